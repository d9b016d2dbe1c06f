import torch
import torch._dynamo

torch._dynamo.config.recompile_limit = 1
f = torch.compile(lambda x: x + 1, backend="eager", dynamic=False, fullgraph=True)
for n in range(3):
    f(torch.ones(n + 3))
