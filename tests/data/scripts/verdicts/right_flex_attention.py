import torch
from torch.nn.attention.flex_attention import flex_attention


@torch.compile(backend="aot_eager")
def program(q, k, v):
    return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s - (i - j).abs())


q, k, v = (torch.ones(1, 2, 16, 8) for _ in range(3))
program(q, k, v)
