import functools
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing, checkpoint_wrapper, CheckpointImpl


@torch.compile
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_qkv = nn.Linear(32, 96, bias=False)
        self.to_out = nn.Linear(32, 32, bias=False)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.to_qkv(x).view(b, t, 4, 24).transpose(1, 2).split(8, -1)
        return x + self.to_out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, c))


net = nn.Sequential(Block(), Block())
apply_activation_checkpointing(
    net,
    checkpoint_wrapper_fn=functools.partial(checkpoint_wrapper, checkpoint_impl=CheckpointImpl.NO_REENTRANT),
    check_fn=lambda m: isinstance(m, nn.Linear),
)
x = torch.randn(2, 6, 32)
net(x).sum().backward()
print("ok")
