import torch
from torch._higher_order_ops.while_loop import while_loop


@torch.compile(backend="aot_eager")
def program(count, x):
    return while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x * 2), (count, x))


print(program(torch.tensor(3), torch.ones(2)))
