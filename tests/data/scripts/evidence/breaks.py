import torch


class Repro(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2


run = torch.compile(Repro(), backend="BACKEND")
for size in (3, 4):
    run(torch.ones(size, 5))
assert False, "output 0 differs"
