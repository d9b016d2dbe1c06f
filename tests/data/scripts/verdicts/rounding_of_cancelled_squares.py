import torch

torch.manual_seed(0)
wide = torch.randn(64, 1000) + 10000


def program(x):
    return (wide * wide).mean(-1) - wide.mean(-1).square() + x.sum()


x = torch.tensor([0.31, 0.4567, 0.8])
assert torch.equal(torch.compile(program)(x), program(x))
