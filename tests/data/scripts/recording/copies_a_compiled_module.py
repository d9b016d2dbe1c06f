import copy

import torch

original = torch.compile(torch.nn.Linear(2, 2), backend="eager")
x = torch.ones(1, 2)
before = original(x)
copied = copy.deepcopy(original)
with torch.no_grad():
    for parameter in copied.parameters():
        parameter.zero_()
print(copied(x).tolist(), torch.equal(original(x), before))
