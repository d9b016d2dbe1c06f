import torch
from held_clock import stand_still
from torch._subclasses.fake_tensor import FakeTensor


@torch.compiler.allow_in_graph
def waits_while_traced(x):
    if isinstance(x, FakeTensor):
        stand_still()
    return x * 2


torch.compile(lambda x: waits_while_traced(x) + 1, backend="eager")(torch.ones(3))
