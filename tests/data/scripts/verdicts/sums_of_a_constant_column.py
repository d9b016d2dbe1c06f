import torch


def program(x):
    return x - x.mean(0)


def backend(gm, inputs):
    def in_turn(x):
        total = torch.zeros(x.shape[1])
        for row in x:
            total = total + row
        return (x - total / len(x),)

    return in_turn


given = torch.full((3001, 2), 1013.27)
print(torch.compile(program, backend=backend)(given))
