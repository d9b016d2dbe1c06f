import torch

out = torch.compile(lambda x: x + 1, backend="eager")(torch.ones(3))
assert out.sum() == 5
