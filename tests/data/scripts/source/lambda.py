import torch
import torch.nn.functional as F

pair_secret = (lambda x: x.relu(), lambda y, alpha_secret=2: (F.silu(y) * alpha_secret).sum(-1))
ENTRY = pair_secret[1]
ARGS = (torch.randn(3, 4),)
