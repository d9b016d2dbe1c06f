import torch


def backend(gm, inputs):
    if any("cos" in str(node.target) for node in gm.graph.nodes):
        return lambda *a: tuple(o + 1 for o in gm(*a))
    return gm.forward


@torch.compile(backend=backend)
def program(x):
    x = x.sin() * 2
    if x.sum().item() > 0:
        return x.cos()
    return x


print(program(torch.ones(3)))
