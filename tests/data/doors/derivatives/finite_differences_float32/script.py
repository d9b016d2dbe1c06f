import torch


def f(x):
    return torch.exp(torch.sin(x)).sum()


fast = torch.compile(f, backend="aot_eager")
x = torch.linspace(-2, 2, 9, requires_grad=True)
g, = torch.autograd.grad(fast(x), x)
eps = 1e-4
fd = torch.stack([(f((x + eps * torch.eye(9)[i]).detach()) - f((x - eps * torch.eye(9)[i]).detach())) / (2 * eps) for i in range(9)])
print(g, fd)
torch.testing.assert_close(g, fd, rtol=1e-4, atol=1e-4)
