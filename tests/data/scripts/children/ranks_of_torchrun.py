import torch
import torch.distributed as dist

dist.init_process_group("gloo")


def off_by_one(graph, inputs):
    if dist.get_rank() == 0:
        return graph
    return lambda *args: [out + 1 for out in graph(*args)]


def double(x):
    return x * 2


compiled = torch.compile(double, backend=off_by_one)
total = compiled(torch.ones(4))
dist.all_reduce(total)
assert total.sum() == 16, total
