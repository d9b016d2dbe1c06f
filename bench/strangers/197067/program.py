import torch

# A ZeroTensor arises naturally as the gradient of sgn (derivative of sgn is 0):
x = torch.randn(3, requires_grad=True)
z = torch.autograd.grad(torch.sgn(x).sum(), x)[0]
assert z._is_zerotensor()          # True -- an efficient ZeroTensor, from plain autograd

def fn(t):
    return t[-1] + 10

print(fn(z))                                  # eager:    tensor(10.)
torch.compile(fn, backend="inductor")(z)      # compiled: SEGFAULT (SIGSEGV, exit 139)
