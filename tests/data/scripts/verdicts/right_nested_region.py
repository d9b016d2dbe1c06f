import torch


@torch.compiler.nested_compile_region
def layer(x, w):
    return torch.relu(x @ w)


@torch.compile(backend="aot_eager")
def program(x, w):
    return layer(layer(x, w), w).sum()


program(torch.ones(2, 4), torch.ones(4, 4, requires_grad=True)).backward()
