import torch
import torch._dynamo

torch._dynamo.config.error_on_recompile = True
f = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)
for n in range(3):
    f(torch.ones(n + 3))
