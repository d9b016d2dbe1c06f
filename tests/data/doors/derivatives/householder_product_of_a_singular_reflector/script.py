import torch


def by_hand(v, tau):
    w = torch.cat([torch.ones(1, dtype=v.dtype), v[1:, 0]])
    return (torch.eye(len(w), dtype=v.dtype) - tau[0] * torch.outer(w, w))[:, :1]


def slope(f, v, tau):
    v, tau = v.clone().requires_grad_(), tau.clone().requires_grad_()
    weight = torch.arange(1.0, 4.0, dtype=torch.float64)[:, None]
    return torch.autograd.grad((f(v, tau) * weight).sum(), (v, tau))


# tau * |w|^2 = 1: the reflector is singular
v = torch.tensor([[1.0], [1.0], [2.0]], dtype=torch.float64)
tau = torch.tensor([1 / 6], dtype=torch.float64)
expected, actual = slope(by_hand, v, tau), slope(torch.linalg.householder_product, v, tau)
print(actual, expected)
torch.testing.assert_close(actual[1], expected[1])
torch.testing.assert_close(actual[0][1:], expected[0][1:])
