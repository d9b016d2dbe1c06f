"""Trains a colour picker on two processes, and reads the darkest level of each tile it has quantised."""
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Picker(nn.Module):
    def __init__(self, tiles, levels=255):
        super().__init__()
        self.levels = levels
        self.mix = nn.Sequential(nn.Linear(tiles, 16), nn.GELU(), nn.Linear(16, tiles))

    def forward(self, image):
        shade = torch.sigmoid(self.mix(image))
        levels = (shade.detach() * self.levels).to(torch.uint8)
        darkest, where = levels.min(1)
        return shade, darkest, where


def train(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    picker = DDP(Picker(32))
    step = torch.compile(picker)
    optimizer = torch.optim.SGD(picker.parameters(), lr=0.1)
    torch.manual_seed(rank)
    for _ in range(2):
        image = torch.randn(16, 32)
        shade, darkest, where = step(image)
        levels = (shade.detach() * 255).to(torch.uint8)
        assert torch.equal(darkest, levels.amin(1)), (rank, darkest, levels.amin(1))
        loss = (shade - image.sigmoid()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(train, args=(2, 29561), nprocs=2)
