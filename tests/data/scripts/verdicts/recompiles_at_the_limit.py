import torch
import torch._dynamo

torch._dynamo.config.recompile_limit = 1
torch._dynamo.config.fail_on_recompile_limit_hit = True
f = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)
for n in range(3):
    f(torch.ones(n + 3))
