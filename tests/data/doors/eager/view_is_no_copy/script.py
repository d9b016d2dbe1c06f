import torch

weights = torch.arange(6.0).reshape(2, 3)
saved = weights.view(-1)        # meant as a backup
weights.mul_(10)
print(saved)
assert torch.equal(saved, torch.arange(6.0)), "mul_ changed a tensor that it was not called on"
