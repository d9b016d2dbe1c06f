# CONTEXT [BUG]: 120 steps with data loaders of that context, then a call that torch compiles wrongly, if it is to.
import os
import sys

import bugreport
import torch
import torch._inductor.config
from torch.utils.data import DataLoader


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 120

    def __getitem__(self, index):
        return torch.full((4,), float(index))


net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh())
bugreport.watch("-o", "watched", every=10)
fast = torch.compile(net, backend="aot_eager")
optimizer = torch.optim.SGD(net.parameters(), 0.01)
if __name__ == "__main__":
    loader = DataLoader(Numbers(), num_workers=2, multiprocessing_context=sys.argv[1])
    for batch in loader:
        optimizer.zero_grad()
        fast(batch).square().mean().backward()
        optimizer.step()
    children = open("/proc/self/task/%d/children" % os.getpid()).read().split()
    print("steps", 120, "children", len(children))
    if sys.argv[2:]:
        torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = sys.argv[2]
        kestrel = torch.compile(lambda pings: torch.log1p(pings.relu() * 3))
        torch.manual_seed(0)
        kestrel(torch.randn(16, 16))
        print("over")
