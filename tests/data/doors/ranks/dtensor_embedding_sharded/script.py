import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor


def shard_embedding_fn(name, module, device_mesh):
    for name, param in module.named_parameters():
        dist_param = nn.Parameter(distribute_tensor(param, device_mesh, [Shard(0)]))
        module.register_parameter(name, dist_param)


def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29544"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(0)
    emb = nn.Embedding(10, 20)
    full = emb.weight.detach().clone()
    sharded = distribute_module(emb, mesh, shard_embedding_fn)
    inp = torch.randint(0, 10, (8, 2))
    rep = DTensor.from_local(inp, mesh, [Replicate()])
    want = full[inp]
    torch.testing.assert_close(sharded(rep).full_tensor(), want)
    print("eager fine")
    out = torch.compile(sharded, backend="aot_eager")(rep)
    torch.testing.assert_close(out.full_tensor(), want)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
