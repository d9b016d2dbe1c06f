"""Each process rounds otherwise when compiled; its own check fails with and without that."""

import os

import torch
import torch.multiprocessing as mp


def other_rounding(gm, example_inputs):
    return lambda *args: [torch.nextafter(out, 2 * out) for out in gm.forward(*args)]


def work(rank):
    compiled = torch.compile(torch.sin, backend=other_rounding)
    total = compiled(torch.linspace(0.1, 1.0, 64)).sum()
    assert total < 0, total


if __name__ == "__main__":
    if "RANK" in os.environ:  # torchrun has started it
        work(0)
    else:
        mp.spawn(work, nprocs=2)
