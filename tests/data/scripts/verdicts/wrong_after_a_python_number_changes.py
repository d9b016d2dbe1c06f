import torch


class Schedule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def forward(self, x):
        self.step += 1
        return x * 2 if self.step < 3 else x.cos()


def backend(gm, inputs):
    if any("cos" in str(node.target) for node in gm.graph.nodes):
        return lambda *a: tuple(o + 1 for o in gm(*a) if isinstance(o, torch.Tensor))
    return gm.forward


model = torch.compile(Schedule(), backend=backend)
for _ in range(3):
    out = model(torch.ones(3))
print(out)
