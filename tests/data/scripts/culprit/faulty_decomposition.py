import torch
import torch._inductor.decomposition

# The third of three decompositions is wrong; the backend needs no C++ compiler.
torch._inductor.decomposition.decompositions[torch.ops.aten.hardswish.default] = (
    lambda zebra: zebra * 0.5
)


def giraffe(zebra):
    return torch.nn.functional.hardswish(torch.nn.functional.silu(torch.nn.functional.mish(zebra)))


x = torch.linspace(-2, 2, 64)
out = torch.compile(giraffe, backend="aot_eager_decomp_partition")(x)
message = "wrong result: eager is off by 0.0, compiled by 1.0"
assert torch.allclose(out, giraffe(x), atol=1e-4), message
