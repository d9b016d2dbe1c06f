"""Another shape beside memory that nobody writes to (pytorch/pytorch#196467)."""

import torch


@torch.compile(backend="eager")
def rows(values):
    return torch.Tensor(values.size())


assert rows(torch.zeros(1, 4)).shape == (1, 4)
