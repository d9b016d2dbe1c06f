import torch


def backend(gm, inputs):
    return lambda *a: tuple(o + 1 for o in gm(*a))


class Mean(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, v):
        self.mean = 0.9 * self.mean + 0.1 * v


torch.compile(Mean(), backend=backend)(torch.ones(3))
