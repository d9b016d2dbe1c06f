import torch

torch.manual_seed(3)
state = torch.zeros(2)


def step(x):
    state.add_(1)
    return x + torch.rand(2)


f = torch.compile(step, backend="eager")
print(f(torch.ones(2)).tolist(), f(torch.ones(2)).tolist(), state.tolist(), torch.rand(1).item())
