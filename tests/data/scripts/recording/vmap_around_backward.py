import torch


def fn(x):
    return torch.stack([x.sin().sum(), (x * x).sum()])


x = torch.ones(3, requires_grad=True)
y = torch.compile(fn, backend="eager")(x)


def differentiate(v):
    return torch.autograd.grad(y, x, v, retain_graph=True)[0]


print(torch.vmap(differentiate)(torch.eye(2))[1].tolist())
