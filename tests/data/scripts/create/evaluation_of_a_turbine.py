"""Nightly evaluation of the turbine model: thresholds are re-read from the environment between rounds."""
import argparse
import contextlib
import functools
import os
import time
import torch
import torch.nn as nn
from dataclasses import dataclass


@contextlib.contextmanager
def precise():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def timed(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        start = time.perf_counter()
        result = fn(*args, **kwargs)
        print(fn.__name__, f"{time.perf_counter() - start:.1f} s")
        return result
    return wrapper


class Turbine(nn.Module):
    def __init__(self, blades):
        super().__init__()
        self.pitch = nn.Linear(blades, blades)

    def forward(self, wind):
        limit = float(os.getenv("TURBINE_LIMIT", "1"))
        return torch.clamp(self.pitch(wind), -limit, limit)


@dataclass
class Evaluation:
    blades: int
    rounds: int = 2

    @classmethod
    def from_args(cls, args):
        return cls(args.blades, rounds=args.rounds)

    @functools.cached_property
    def model(self):
        return Turbine(self.blades)

    @staticmethod
    def gap(a, b):
        return (a - b).abs().max().item()

    @timed
    @torch.no_grad()
    def run(self):
        fast = torch.compile(self.model)
        wind = torch.randn(16, self.blades) * 3
        worst = []
        for number in range(self.rounds):
            os.environ["TURBINE_LIMIT"] = "2" if number else "1"
            worst.append(self.gap(self.model(wind), fast(wind)))
        return worst


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--blades", type=int, default=5)
    p.add_argument("--rounds", type=int, default=2)
    return p.parse_args()


@precise()
def main():
    worst = Evaluation.from_args(parse()).run()
    print(worst)
    assert max(worst) < 1e-9, worst


if __name__ == "__main__":
    main()
