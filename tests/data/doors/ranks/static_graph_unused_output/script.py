import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(10, 10)
        self.b = nn.Linear(10, 10)

    def forward(self, x):
        a = self.a(x)
        b = self.b(x)
        return (a, b)


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29543"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    m = M()
    ddp = torch.nn.parallel.DistributedDataParallel(m, static_graph=True)
    inp = torch.rand(1, 10)
    for _ in range(6):
        out = ddp(inp)[0]
        out.sum().backward()
        # b's gradient should be None.
        assert m.b.weight.grad is None
        assert m.b.bias.grad is None
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
