import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29553"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    alone = nn.Linear(4, 1)
    alone.load_state_dict(net.state_dict())
    x = torch.randn(8, 4)
    ddp = torch.compile(DDP(net), backend="aot_eager")
    ddp(x.chunk(world)[rank]).sum().backward()
    alone(x).sum().backward()
    print(rank, net.weight.grad, alone.weight.grad)
    torch.testing.assert_close(net.weight.grad, alone.weight.grad)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
