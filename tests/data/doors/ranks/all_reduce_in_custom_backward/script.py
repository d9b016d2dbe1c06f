import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        dist.all_reduce(g)
        return g


def fn(x):
    return Reduce.apply(x * 2)


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29541"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    grads = []
    for f in (fn, torch.compile(fn, backend="aot_eager", fullgraph=True)):
        x = torch.ones(4, requires_grad=True)
        f(x).mul(rank + 1).sum().backward()
        grads.append(x.grad)
    print(rank, grads)
    torch.testing.assert_close(grads[1], grads[0])
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
