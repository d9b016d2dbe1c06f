import triton
import triton.language as tl


@triton.jit
def k(p, MODE: tl.constexpr):
    if MODE == "acme":
        tl.store(p, 1.0)
    elif MODE == "quorum":
        tl.store(p, 2.0)
