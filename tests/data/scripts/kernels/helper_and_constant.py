import triton
from triton import language as L

ACME_LIMIT = L.constexpr(7)


@triton.jit
def acme_clip(value_of_acme):
    return value_of_acme + ACME_LIMIT


@triton.jit
def acme_main(ptr):
    L.store(ptr, acme_clip(L.load(ptr)))
