import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel.style import PrepareModuleInput, ColwiseParallel
from torch.distributed.tensor import Shard, Replicate
from torch.distributed.tensor.parallel import parallelize_module

D = 64
# Just a linear wrapper
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(D, D, bias=False)
    def forward(self, x): return self.l(x)

def work(rank, world):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = "29535"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    mesh = init_device_mesh('cpu', (2,))
    # Create model, shard it.
    m = M()
    parallelize_module(m.l, mesh, ColwiseParallel(output_layouts=Shard(0)))
    parallelize_module(m, mesh, PrepareModuleInput(input_layouts=[Shard(0)], desired_input_layouts=[Replicate()]))
    # order should be: local shard0 -> DT Replicate() -> col parallel Rep() @ shard0 -> DT shard2 -> local shard0 -> return

    # This works fine
    m(torch.randn(2, D)).sum().backward()
    print("eager fine")

    # This fails with stride mismatch
    m = torch.compile(m)
    m(torch.randn(2, D)).sum().backward()
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2)
