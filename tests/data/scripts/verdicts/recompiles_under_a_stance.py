import torch

f = torch.compile(lambda x: x + 1, backend="eager", dynamic=False)
for n in range(3):
    if n:
        torch.compiler.set_stance("fail_on_recompile")
    f(torch.ones(n + 3))
