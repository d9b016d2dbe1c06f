import torch


def backend(gm, inputs):
    return lambda *a: tuple((o.float() + 1).to(o.dtype) for o in gm(*a))


torch.compile(lambda v: (v * 2).to(torch.float8_e4m3fn), backend=backend)(torch.ones(3))
