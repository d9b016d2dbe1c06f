import torch

def pack_hook(x):
    return x
def unpack_hook(x):
    return 2 * x

def g(a, b):
    return a * b

f = torch.compile(g, backend="aot_eager", fullgraph=True)

grads = []
for fn in (g, f):
    a = torch.ones([], requires_grad=True)
    b = torch.tensor(2., requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack_hook, unpack_hook):
        y = fn(a, b)
    y.backward()
    print(a.grad, b.grad)
    grads.append((a.grad, b.grad))
assert grads[0] == grads[1]
