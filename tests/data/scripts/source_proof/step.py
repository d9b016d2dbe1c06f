import torch
from torch import nn

model = nn.Linear(3, 3)
model(torch.ones(2, 3)).sum().backward()  # there are gradients before the step

def step(x):
    loss = model(x).pow(2).sum()
    loss.backward()
    return loss

ENTRY = step
ARGS = (torch.randn(2, 3),)
