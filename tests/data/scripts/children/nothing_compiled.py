"""A process is started, and compiles nothing."""

import torch
import torch.multiprocessing as mp


def work(rank):
    print(torch.ones(3).sum().item())


if __name__ == "__main__":
    mp.spawn(work, nprocs=1)
