import warnings

import torch

shown = []
warnings.showwarning = lambda *args, **kwargs: shown.append(args)


def step(x):
    warnings.warn("each time from here")
    return add(x)


add = torch.compile(lambda x: x + 1, backend="eager")
for _ in range(6):
    step(torch.ones(3))
print(len(shown))
