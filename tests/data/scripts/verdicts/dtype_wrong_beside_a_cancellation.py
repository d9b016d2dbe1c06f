import torch


def backend(gm, inputs):
    def in_turn(x):
        total = torch.zeros(x.shape[1])
        for row in x:
            total = total + row
        return ((x - total / len(x)).double(),)

    return in_turn


given = torch.full((3001, 2), 1013.27)
print(torch.compile(lambda x: x - x.mean(0), backend=backend)(given).dtype)
