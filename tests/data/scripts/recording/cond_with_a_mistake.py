import torch

x = torch.ones(3)
try:
    torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.to(torch.float64), (x,))
except Exception as error:
    print("refused", "dtype" in str(error))
