import torch


def program(x, y):
    z = torch.exp(x)
    z.div_(y)
    return z


given = torch.ones(3, requires_grad=True), torch.ones(3)
print(torch.compile(program, backend="aot_eager")(*given))
