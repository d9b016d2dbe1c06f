import torch

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.v = torch.nn.Parameter(torch.randn(3, 4))
        self.g = torch.nn.Parameter(torch.rand(3, 1) + 0.5)
        self.b = torch.nn.Parameter(torch.zeros(3))
    def forward(self, x):
        w = torch._weight_norm(self.v, self.g, 0)
        return torch.tanh(x @ w.t() + self.b)

torch.manual_seed(0)
m = Layer().double()
x = torch.randn(5, 4, dtype=torch.float64)

def grad_of(v):
    with torch.no_grad():
        m.v.copy_(v)
    y = m(x).pow(2).sum()
    (g,) = torch.autograd.grad(y, m.v, create_graph=True)
    return g

v0 = m.v.detach().clone()
g = grad_of(v0)
(hvp,) = torch.autograd.grad((g * torch.ones_like(g)).sum(), m.v)
eps = 1e-6
num = (grad_of(v0 + eps) - grad_of(v0 - eps)) / (2 * eps)
torch.testing.assert_close(hvp, num.detach(), rtol=1e-4, atol=1e-4)
