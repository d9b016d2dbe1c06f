import torch
from torch import nn

layer = nn.Linear(3, 3, bias=False)
layer.weight = nn.Parameter(torch.eye(3, dtype=torch.float))

def hook(module, grad_input, grad_output):
    return ([gi * 2 for gi in grad_input])

@torch.compile(backend="aot_eager", fullgraph=True)
def f(x):
    y = layer(x)
    return y

x = torch.randn(3, requires_grad=True)
f(x)
layer.register_full_backward_hook(hook)

x = torch.randn(3, requires_grad=True)
y = f(x)
y.sum().backward()
print(x.grad)
assert torch.equal(x.grad, torch.full((3,), 2.))
