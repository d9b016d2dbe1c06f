import torch


@torch.compile(backend="eager")
def secret_power(x, secret_times):
    for _ in range(secret_times):
        x = x * 2
    return x


for n in range(1, 13):
    secret_power(torch.ones(3), n)
