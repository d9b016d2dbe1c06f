import torch


def secret_step(secret_x):
    if secret_x.sum() > 0:
        return secret_x.sin()
    return secret_x.cos()


torch.compile(secret_step, backend="eager")(torch.ones(3))
