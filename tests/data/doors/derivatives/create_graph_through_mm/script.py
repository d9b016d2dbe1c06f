import torch


def critic(x, w):
    return torch.relu(x @ w).sum()


torch.manual_seed(0)
w = torch.randn(4, 3, requires_grad=True)


def penalty(f):
    x = torch.ones(2, 4, requires_grad=True)
    g, = torch.autograd.grad(f(x, w), x, create_graph=True)
    print("requires_grad:", g.requires_grad, "grad_fn:", g.grad_fn is not None)
    return (g.norm(dim=1) - 1).pow(2).sum()


ref = penalty(critic)
out = penalty(torch.compile(critic, backend="aot_eager"))
torch.testing.assert_close(out.detach(), ref.detach())
assert out.requires_grad == ref.requires_grad, "the gradient penalty trains nothing"
