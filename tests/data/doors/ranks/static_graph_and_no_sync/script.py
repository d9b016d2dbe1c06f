import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29542"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    net = DDP(nn.Linear(4, 2), static_graph=True)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        opt.zero_grad()
        with net.no_sync():
            net(torch.full((3, 4), float(rank))).sum().backward()
        net(torch.full((3, 4), float(rank))).sum().backward()
        grads = [torch.empty_like(net.module.weight.grad) for _ in range(world)]
        dist.all_gather(grads, net.module.weight.grad)
        torch.testing.assert_close(grads[0], grads[1])
        opt.step()
    print(rank, "ok")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
