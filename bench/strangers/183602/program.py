import torch

def fn(x, src):
    return torch.diagonal_scatter(x, src, 0).sum()

x1 = torch.zeros(5, 5, requires_grad=True)
s1 = torch.ones(5, requires_grad=True)
fn(x1, s1).backward()

torch._dynamo.reset()

x2 = torch.zeros(5, 5, requires_grad=True)
s2 = torch.ones(5, requires_grad=True)
torch.compile(fn)(x2, s2).backward()

print("eager x.grad sum:", float(x1.grad.sum()))
print("compile x.grad sum:", float(x2.grad.sum()))
