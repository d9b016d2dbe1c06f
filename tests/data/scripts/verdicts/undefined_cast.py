import torch


def program(x):
    return (x * torch.linspace(-900, 900, 3)).to(torch.int8)


x = torch.tensor([0.31, 0.4567, 0.8])
assert torch.equal(torch.compile(program)(x), program(x))
