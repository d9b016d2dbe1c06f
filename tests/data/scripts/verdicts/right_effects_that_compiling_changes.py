"""What a program does only where it is not compiled, and how often Python's caches, a finaliser, a
backend or an opaque function run, is no promise of the compiler's."""

import functools

import torch

graphs, cached, alive, opaque = [], [], [0], [0]


def backend(module, inputs):
    graphs.append(module)
    return module


@functools.lru_cache(maxsize=None)
def table(n):
    cached.append(n)
    return n * 2


class Held:
    def __init__(self):
        alive[0] += 1

    def __del__(self):
        alive[0] -= 1


@torch._dynamo.allow_in_graph
def double(x):
    opaque[0] += 1
    return x * 2


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.graphs, self.steps, self.means = graphs, 0, []

    def forward(self, x):
        if not torch.compiler.is_compiling():
            self.steps += 1
            self.means.append(x.mean())
        held = Held()
        return double(x) * table(3)


program = torch.compile(Program(), backend=backend)
for _ in range(2):
    program(torch.ones(3))
