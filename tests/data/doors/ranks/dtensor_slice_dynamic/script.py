import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29534"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    x = DTensor.from_local(torch.randn(6, 4), mesh, [Replicate()])

    def fn(x):
        return x[:]

    print(rank, fn(x).shape)
    out = torch.compile(fn, backend="aot_eager", dynamic=True)(x)
    torch.testing.assert_close(out.to_local(), x.to_local())
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
