import torch
from torch._higher_order_ops.while_loop import while_loop


def backend(gm, inputs):
    if any("while_loop" in str(node.target) for node in gm.graph.nodes):
        raise RuntimeError("loops are not lowered")
    return gm.forward


@torch.compile(backend=backend)
def program(count, x):
    return while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x * 2), (count, x))


print(program(torch.tensor(3), torch.ones(2)))
