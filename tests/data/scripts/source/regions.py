import torch
from torch.compiler import nested_compile_region


@nested_compile_region
def secret_block(secret_x, secret_weight):
    return torch.relu(secret_x * secret_weight)


def secret_gate(secret_x):
    return secret_x.sin()


secret_marked = nested_compile_region(secret_gate)


class SecretNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.secret_weight = torch.nn.Parameter(torch.ones(3))

    @torch.compiler.nested_compile_region
    def secret_part(self, secret_x):
        return secret_x * self.secret_weight

    def forward(self, secret_x):
        return secret_marked(secret_block(self.secret_part(secret_x), self.secret_weight))


ENTRY = SecretNet()
ARGS = (torch.ones(4, 3),)
