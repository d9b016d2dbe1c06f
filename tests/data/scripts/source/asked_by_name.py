import torch

class Secret:
    def __getattr__(self, name):
        if name == "secret_sum":
            return lambda x: x.sum()
        raise AttributeError(name)

def secret_call(x):
    torch._dynamo.mark_dynamic(x, 0)
    return Secret().secret_sum(x)

ENTRY = secret_call
ARGS = (torch.ones(3, 2),)
