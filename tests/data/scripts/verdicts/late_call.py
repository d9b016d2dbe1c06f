import torch

runs = []


def backend(gm, inputs):
    def run(*a):
        runs.append(0)
        return tuple(o + (len(runs) > 10) for o in gm(*a))

    return run


f = torch.compile(lambda v: v * 2, backend=backend)
for i in range(11):
    out = f(torch.ones(3))
assert out.sum() == 6
