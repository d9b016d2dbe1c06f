import sys

import torch

with open(sys.argv[1], "w") as file:
    file.write("1 2 3")
numbers = open(sys.argv[1])


@torch.compile(backend="eager")
def add_next(x):
    torch._dynamo.graph_break()
    return x + float(numbers.read(2))


print([add_next(torch.zeros(1)).item() for _ in range(3)])
