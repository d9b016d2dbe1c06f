import torch
from torch import nn

SECRET_LIBRARY = torch.library.Library("secret_depot", "DEF")
SECRET_LIBRARY.define("secret_spread_(Tensor(a!) secret_state, Tensor old, int steps=2) -> ()")
SECRET_LIBRARY.define("secret_scale(Tensor x, float factor) -> Tensor")

def secret_spread_(secret_state, old, steps=2):
    for _ in range(steps):
        secret_state.add_(old * 0.5)

SECRET_LIBRARY.impl("secret_spread_", secret_spread_, "CPU")
SECRET_LIBRARY.impl("secret_spread_", lambda secret_state, old, steps=2: None, "Meta")

@torch.library.impl(SECRET_LIBRARY, "secret_scale", "CompositeExplicitAutograd")
def secret_scale(x, factor):
    return x * factor

@torch.library.register_fake("secret_depot::secret_scale")
def secret_fake(x, factor):
    return torch.empty_like(x)

class SecretModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.secret_buffer = nn.Buffer(torch.ones(2, 3))

    def forward(self, x):
        state = self.secret_buffer.clone()
        torch.ops.secret_depot.secret_spread_(state, x, steps=3)
        return state + torch.ops.secret_depot.secret_scale.default(x, 1.5)

ENTRY = SecretModel()
ARGS = (torch.randn(2, 3),)
