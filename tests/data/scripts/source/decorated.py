import functools
import torch

def secret_decorator(function):
    @functools.wraps(function)
    def secret_wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1
    return secret_wrapper

@secret_decorator
@torch.no_grad()
def secret_inner(x, secret_power):
    return x ** secret_power

@torch.compile
def secret_outer(x):
    return functools.reduce(lambda a, b: a + b, [secret_inner(x, secret_power=n) for n in range(1, 3)])

ENTRY = secret_outer
ARGS = (torch.ones(2, 3, requires_grad=True),)
