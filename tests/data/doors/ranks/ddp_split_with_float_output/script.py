import os
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.training or self.p == 0.0:
            return x
        keep = 1.0 - self.p
        noise = torch.empty([x.shape[0]] + [1] * (x.ndim - 1)).bernoulli_(keep)
        return x * noise.div_(keep)


class Block(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.fc1 = nn.Linear(512, 512)
        self.fc2 = nn.Linear(512, 512)
        self.drop_path = DropPath(p)

    def forward(self, x):
        x = x + self.drop_path(self.fc1(x))
        return x + self.drop_path(self.fc2(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(0.0), Block(0.1), Block(0.2)])

    def forward(self, x):
        for block in self.blocks:
            torch._dynamo.graph_break()
            x = block(x)
        return x


def main():
    with tempfile.NamedTemporaryFile() as f:
        dist.init_process_group("gloo", init_method=f"file://{f.name}", rank=0, world_size=1)
        model = DDP(Model(), bucket_cap_mb=1)
        model = torch.compile(model)
        x = torch.randn(8, 512)
        model(x).sum().backward()
        print("ok")
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
