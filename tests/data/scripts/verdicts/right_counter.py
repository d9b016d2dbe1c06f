import torch


class Count(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.seen = 0, []

    def forward(self, v):
        self.n += 1
        self.seen.append(self.n)
        return v * self.n + len(self.seen)


f = torch.compile(Count(), backend="eager")
for i in range(3):
    f(torch.ones(i + 2))
