"""Two processes without a group; the backend of one of them ends it."""

import os
import signal

import torch
import torch.multiprocessing as mp


def deadly(gm, example_inputs):
    def call(*args):
        os.kill(os.getpid(), signal.SIGSEGV)

    return call


def work(rank):
    torch.compile(torch.relu, backend=deadly if rank == 1 else "eager")(torch.randn(4))


if __name__ == "__main__":
    mp.spawn(work, nprocs=2)
