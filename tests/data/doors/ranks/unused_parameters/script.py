import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 8)
        self.a, self.b = nn.Linear(8, 2), nn.Linear(8, 2)

    def forward(self, x, which):
        h = torch.relu(self.body(x))
        return self.a(h) if which == 0 else self.b(h)


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29550"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    net = DDP(torch.compile(TwoHeads(), backend="aot_eager"))
    for step in range(3):
        net(torch.randn(4, 8), step % 2).sum().backward()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
