import torch


def step(x):
    for _ in range(3):
        x = x.sin()
        print("round")
    return x


torch.compile(step, backend="eager")(torch.ones(3))
