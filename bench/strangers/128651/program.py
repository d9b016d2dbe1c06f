import torch
import contextlib

lst = []

@contextlib.contextmanager
def lst_append():
    try:
        yield
    finally:
        lst.append(4)

@torch.compile(backend="eager", fullgraph=True)
def f(x):
    with lst_append():
        pass
    return

x = torch.randn(2)
f(x)
print(lst)
