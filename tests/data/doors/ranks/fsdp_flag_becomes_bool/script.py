"""Shards an alarm model over two processes, which report by a flag in bytes whether any channel is loud."""
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Stage(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        return x + self.mix(self.norm(x)).relu()


class Head(nn.Module):
    def __init__(self, width, channels):
        super().__init__()
        self.score = nn.Linear(width, channels)

    def forward(self, x):
        score = self.score(x)
        loud = (score > 0.5).to(torch.uint8)
        return score, loud.any(1)


class Alarm(nn.Module):
    def __init__(self, width, depth=2):
        super().__init__()
        self.stages = nn.ModuleList([Stage(width) for _ in range(depth)])
        self.head = Head(width, 4)

    def forward(self, x):
        for stage in self.stages:
            x = stage(x)
        return self.head(x)


def work(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(3)
    model = Alarm(8)
    for part in (*model.stages, model.head):
        part.compile()
        fully_shard(part, mesh=mesh)
    fully_shard(model, mesh=mesh)
    torch.manual_seed(rank)
    score, loud = model(torch.randn(5, 8))
    score.sum().backward()
    packet = torch.zeros(5, dtype=torch.uint8)
    assert loud.dtype == packet.dtype, f"rank {rank}: the flag has {loud.dtype}"
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2, 29562), nprocs=2)
