import torch

def f(x):
    y = (x ** 4).sum()
    return torch.autograd.grad(y, x, create_graph=True)[0]

torch._dynamo.reset()

xe = torch.tensor([0.5, 1.5, 2.5, 3.5], requires_grad=True)
ge = f(xe)
he = torch.autograd.grad(ge.sum(), xe)[0]
print("eager d2:", he.tolist())

torch._dynamo.reset()

xc = torch.tensor([0.5, 1.5, 2.5, 3.5], requires_grad=True)
gc = torch.compile(f, backend="inductor")(xc)
hc = torch.autograd.grad(gc.sum(), xc)[0]
print("compile d2:", hc.tolist())
