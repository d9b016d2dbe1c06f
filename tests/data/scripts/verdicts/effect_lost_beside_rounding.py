import torch


class Seen(set):
    def add(self, value):
        self.asked += 1
        super().add(value)


seen = Seen()
seen.asked = 0


def backend(gm, inputs):
    return lambda *a: tuple(o * (1 + 1e-7) for o in gm(*a))


@torch.compile(backend=backend)
def program(x):
    seen.add(x.dim())
    return x * 1.1


torch.manual_seed(0)
program(torch.rand(30))
assert len(seen) == 1
