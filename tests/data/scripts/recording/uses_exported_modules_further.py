import copy

import torch


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x):
        return x * self.scale


x = torch.ones(2, 3)
exported = torch.export.export(Scaled(), (x,)).module()
print(exported(x).tolist())
copied = copy.deepcopy(exported)
with torch.no_grad():
    copied.scale.mul_(2)
print(copied(x).tolist(), type(copied).__bases__)
print(torch.compile(exported, backend="eager", fullgraph=True)(x).tolist())
for node in exported.graph.nodes:
    if node.target == torch.ops.aten.mul.Tensor:
        node.target = torch.ops.aten.add.Tensor
exported.recompile()
print(exported(x).tolist())
print(copy.deepcopy(exported)(x).tolist())
