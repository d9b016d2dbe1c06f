import torch


def fn(x):
    y = x.view(2, 6, 4, 8).transpose(1, 2)
    with torch.inference_mode():
        return y.transpose(-2, -1)


torch.compile(fn)(torch.randn(2, 6, 32, device="cuda"))
