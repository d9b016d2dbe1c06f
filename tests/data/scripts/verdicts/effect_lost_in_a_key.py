import torch


def make():
    compared = []

    def key(value):
        compared.append(value)
        return -value

    def program(x):
        return x + sorted([3, 1, 2], key=key)[0] + max([1, 2], key=key)

    return program, compared


program, compared = make()
torch.compile(program, backend="eager")(torch.ones(3))
assert compared == [3, 1, 2, 1, 2]
