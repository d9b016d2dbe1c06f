import torch


@torch.compile
def square(x, weight):
    return torch.relu(x @ weight).square().mean()


@torch.compile
def project(x, weight):
    with torch.autocast("cpu", enabled=False):
        return x.float() @ weight


torch.manual_seed(0)
weight = torch.randn(48, 32, requires_grad=True)
square(torch.randn(6, 48), weight).backward()
with torch.autocast("cpu", dtype=torch.bfloat16):
    out = project(torch.randn(6, 48, dtype=torch.bfloat16), weight)
out.sin().sum().backward()
