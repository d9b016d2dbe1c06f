import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29555"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    net = torch.compile(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), backend="aot_eager")
    out = net(torch.ones(2, 4)).detach()
    outs = [torch.empty_like(out) for _ in range(world)]
    dist.all_gather(outs, out)
    if rank == 0:
        torch.testing.assert_close(outs[0], outs[1])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
