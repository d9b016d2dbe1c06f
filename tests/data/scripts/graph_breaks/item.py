import torch


def secret_step(secret_x):
    n = secret_x.sum().item()
    return secret_x + n


torch.compile(secret_step, backend="eager")(torch.ones(3))
