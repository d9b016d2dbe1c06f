import torch


def custom_backend(gm, example_inputs):
    while any((value1.target is torch.cumsum for value1 in gm.graph.nodes)):
        pass
    return gm


def fn(x):
    return torch.cumsum(x, 0)


torch.manual_seed(0)
torch.compile(fn, backend=custom_backend)(torch.randn(1))
