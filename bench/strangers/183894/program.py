import torch

def f(x):
    x.sin_()
    y = x.t()
    return y.argmin()

torch.manual_seed(21)
x = torch.randn(5, 7)
eager = f(x.clone())
compiled = torch.compile(f, backend="inductor")(x.clone())
print("eager:", eager)
print("compiled:", compiled)
assert torch.equal(eager, compiled)
