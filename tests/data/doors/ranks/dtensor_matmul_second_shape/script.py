import os
import torch
import torch.multiprocessing as mp
from torch.distributed.tensor import init_device_mesh, distribute_tensor, Replicate

def my_matmul(x, y):
    return x @ y

def main(rank, world_size):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29533"
    torch.distributed.init_process_group(backend="gloo", rank=rank, world_size=world_size)

    mesh = init_device_mesh("cpu", (world_size,))

    x1 = distribute_tensor(torch.ones(1, 1), mesh, [Replicate()])
    y1 = distribute_tensor(torch.ones(1, 1), mesh, [Replicate()])

    x2 = distribute_tensor(torch.ones(2, 1), mesh, [Replicate()])
    y2 = distribute_tensor(torch.ones(1, 1), mesh, [Replicate()])

    jitted_fn = torch.compile(my_matmul)
    result1 = jitted_fn(x1, y1)
    result2 = jitted_fn(x2, y2)
    print(rank, result2.to_local().shape)
    torch.distributed.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(main, args=(2,), nprocs=2)
