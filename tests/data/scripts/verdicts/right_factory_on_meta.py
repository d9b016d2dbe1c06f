import torch


@torch.compile(backend="aot_eager")
def program(x):
    return torch.cat([x, torch.zeros(2, 3, device="meta")]).sum(0)


assert program(torch.ones(2, 3, device="meta")).shape == (3,)
