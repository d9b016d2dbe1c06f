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

torch._dynamo.config.capture_dynamic_output_shape_ops = True


def program(x):
    return torch.unique(x.sum(0) - sums)


def backend(gm, inputs):
    return lambda *a: (torch.unique(in_turn(given) - sums),)


out = torch.compile(program, backend=backend)(given)
assert len(out) == 1
