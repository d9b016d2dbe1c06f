import torch
from torch._higher_order_ops.scan import scan


@torch.compile(backend="aot_eager")
def program(start, rows):
    return scan(lambda carry, row: (carry + row, carry * row), start, rows)


print(program(torch.ones(2), torch.ones(5, 2)))
