import torch

args = (
    torch.rand(5, 5, 5),
    torch.rand(5),
    torch.rand(5),
    torch.rand(5),
    torch.rand(5),
    True,
    0.5,
    0.6,
)

out = (
    torch.empty(5, 5, 5),
    torch.empty(5),
    torch.empty(5),
)

torch.compile(torch.native_batch_norm, backend="aot_eager")(*args, out=out)
