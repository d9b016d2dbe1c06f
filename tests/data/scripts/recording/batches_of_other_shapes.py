import dataclasses

import torch


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    step: int


@torch.compile(backend="eager", dynamic=True)
def total(batch):
    return batch.x.sum()


for step in range(10):
    total(Batch(torch.ones(4), step=1))
total(Batch(torch.ones(5), step=1))
