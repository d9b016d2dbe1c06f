import torch

def in_turn(x):
    """A column's sum, one row after another; torch adds in another order."""
    total = torch.zeros(x.shape[1])
    for row in x:
        total = total + row
    return total


torch.manual_seed(0)
given = torch.rand(3001, 8)
sums = given.sum(0)


def program(x):
    return torch.nn.functional.normalize(x.sum(0) - sums, dim=0)


def backend(gm, inputs):
    return lambda *a: (torch.nn.functional.normalize(in_turn(given) - sums, dim=0),)


out = torch.compile(program, backend=backend)(given)
assert not out.any()
