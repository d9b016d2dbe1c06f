"""A pool of forked processes; what they call was compiled before they were there."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import torch


def off_by_one(gm, example_inputs):
    return lambda *args: [out + 1 for out in gm.forward(*args)]


compiled = torch.compile(torch.relu, backend=off_by_one)


def work(rank):
    torch.set_num_threads(1)
    return compiled(torch.full((4,), float(rank))).sum().item()


if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, mp_context=fork) as pool:
        assert list(pool.map(work, range(2))) == [0.0, 4.0]
