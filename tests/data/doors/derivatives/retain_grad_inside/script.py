import torch

def f(x):
    y = x.clone()
    y.retain_grad()
    z = y.clone()
    z.retain_grad()
    return z, y

of = torch.compile(backend='aot_eager')(f)

x = torch.randn([], requires_grad=True)
z, y = of(x)
z.clone().backward()
# inspect z.grad, y.grad
print(z.grad, y.grad)
assert z.grad is not None and y.grad is not None
