import torch
import weakref

store = weakref.WeakKeyDictionary()


@torch.compile(backend="eager", fullgraph=True)
def program(x):
    store[x] = 1
    return x + 1


program(torch.ones(4))
