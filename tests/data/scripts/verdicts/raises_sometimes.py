"""Fails on the runs 0, 4 and 5 of the compiled code."""

import sys
from pathlib import Path

import torch

log = Path(sys.argv[0]).with_name("runs")


def backend(gm, inputs):
    def run(*a):
        with open(log, "a") as out:
            out.write("x")
        if log.stat().st_size - 1 in (0, 4, 5):
            raise KeyError("now and then")
        return gm(*a)

    return run


print(torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3)))
