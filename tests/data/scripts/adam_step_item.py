"""Trains a small head with a hand-written Adam update."""
import torch
from torch import nn


class RidgeHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 4)

    def forward(self, x):
        return torch.tanh(self.proj(x))


def adam(params, grads, exp_avgs, exp_avg_sqs, t, lr=1e-2):
    t.add_(1)
    step = t.item()
    c1, c2 = 1 - 0.9 ** step, 1 - 0.999 ** step
    for p, g, m, v in zip(params, grads, exp_avgs, exp_avg_sqs):
        m.mul_(0.9).add_(g, alpha=0.1)
        v.mul_(0.999).addcmul_(g, g, value=0.001)
        p.addcdiv_(m / c1, (v / c2).sqrt() + 1e-8, value=-lr)


def train(update):
    torch.manual_seed(0)
    model = RidgeHead()
    params = [p.detach() for p in model.parameters()]
    ms = [torch.zeros_like(p) for p in params]
    vs = [torch.zeros_like(p) for p in params]
    t = torch.zeros(())
    for i in range(6):
        torch.manual_seed(i)
        x = torch.randn(16, 8)
        grads = torch.autograd.grad(model(x).pow(2).mean(), list(model.parameters()))
        update(params, grads, ms, vs, t)
    return params


expected = train(adam)
actual = train(torch.compile(adam))
for e, a in zip(expected, actual):
    torch.testing.assert_close(a, e)
print("fine")
