import torch


def program(x):
    torch.set_default_dtype(torch.float64)
    return x * 2


torch.compile(program, backend="aot_eager")(torch.ones(3))
assert torch.get_default_dtype() == torch.float64
