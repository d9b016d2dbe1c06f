"""Two processes of a fork server; one of them fails."""

import multiprocessing

import torch


def off_by_one(gm, example_inputs):
    return lambda *args: [out + 1 for out in gm.forward(*args)]


def work(rank):
    backend = off_by_one if rank == 1 else "eager"
    x = torch.full((4,), float(rank))
    assert torch.compile(torch.relu, backend=backend)(x).equal(x)


if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    ranks = [context.Process(target=work, args=(rank,)) for rank in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    assert all(rank.exitcode == 0 for rank in ranks), "a process failed"
