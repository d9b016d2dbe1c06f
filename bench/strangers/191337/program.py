import torch

def f(x, replacement, weight):
    x.data = replacement
    weight.normal_()
    return x


base = torch.randn(4, 3, device="cpu")
x = base.t()
replacement = torch.randn(3, 4, device="cpu")
weight = torch.empty(3, 4, device="cpu")

print("eager:", f(x, replacement, weight))


base = torch.randn(4, 3, device="cpu")
x = base.t()
replacement = torch.randn(3, 4, device="cpu")
weight = torch.empty(3, 4, device="cpu")

compiled_f = torch.compile(f, backend="inductor")
print("compiled:", compiled_f(x, replacement, weight))
