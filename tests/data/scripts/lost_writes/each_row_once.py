import torch


def repro(x, i):
    x = x.clone()
    x[i] = torch.arange(3.0)
    return x


def run(compile):
    return [compile(repro)(torch.zeros(3), torch.tensor([0, 2, 1]))]


assert run(lambda f: f)[0].sum() < 0, "wrong result: eager is off by 0 from float64, compiled by 9"
