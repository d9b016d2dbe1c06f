import torch


def program(y, i, v):
    y = y.clone()
    y[i] = v
    return y


def backend(gm, inputs):
    return lambda y, i, v: gm(y, i, v + 9)


given = torch.zeros(4, 2), torch.tensor([1, 2, 1]), torch.arange(6.0).reshape(3, 2)
print(torch.compile(program, backend=backend)(*given))
