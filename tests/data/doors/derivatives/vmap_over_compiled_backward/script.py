import torch

# Setup
N = 5
f = torch.compile(lambda x: x ** 2)
x = torch.randn(N, requires_grad=True)
y = f(x)
I_N = torch.eye(N)

# Sequential approach
jacobian_rows = [torch.autograd.grad(y, x, v, retain_graph=True)[0]
                 for v in I_N.unbind()]
jacobian = torch.stack(jacobian_rows)

# vectorized gradient computation
def get_vjp(v):
    return torch.autograd.grad(y, x, v)

jacobian2 = torch.vmap(get_vjp)(I_N)[0]
torch.testing.assert_close(jacobian, jacobian2)
