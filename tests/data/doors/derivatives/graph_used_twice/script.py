import torch

f = torch.compile(lambda x: torch.sin(x) * x, backend="aot_eager")
x = torch.randn(6, requires_grad=True)
y = f(x).sum()
first, = torch.autograd.grad(y, x)
second, = torch.autograd.grad(y, x)
print(first, second)
