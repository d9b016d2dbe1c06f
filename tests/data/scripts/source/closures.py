import torch

def secret_maker(secret_scale, secret_mask):
    secret_calls = 0
    def secret_inner(x):
        nonlocal secret_calls
        secret_calls += 1
        return x * secret_scale + secret_mask.sum(), secret_calls
    return secret_inner

ENTRY = secret_maker(3, torch.ones(5))
ARGS = (torch.randn(5),)
