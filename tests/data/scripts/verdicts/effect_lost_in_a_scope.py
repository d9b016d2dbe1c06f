import torch


def make(log):
    class Scope:
        def __enter__(self):
            log.append("in")

        def __exit__(self, *error):
            log.append("out")

    return Scope


log = []
Scope = make(log)


def program(x):
    with Scope():
        return x.exp().sum() / 3


torch.compile(program)(torch.rand(1000))
assert log == ["in", "out"]
