import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

torch.manual_seed(0)
dist.init_process_group("gloo")
assert [os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE")] == ["0", "0", "1"]
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
fast = torch.compile(DistributedDataParallel(net), backend="aot_eager")
fast(torch.randn(8, 4)).square().mean().backward()
total = torch.ones(2)
dist.all_reduce(total)
