import torch


class Seen(set):
    def add(self, value):
        self.asked += 1
        super().add(value)


seen = Seen()
seen.asked = 0


@torch.compile(backend="eager")
def program(x):
    seen.add(x.dim())
    return torch.nn.functional.dropout(x)


program(torch.ones(3))
assert len(seen) == 1
