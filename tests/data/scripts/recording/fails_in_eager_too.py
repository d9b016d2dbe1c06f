import torch

f = torch.compile(lambda x: x @ x, backend="eager")
try:
    f(torch.ones(2, 3))
except Exception:
    pass
