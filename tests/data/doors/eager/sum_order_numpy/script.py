import numpy as np
import torch

rng = np.random.default_rng(0)
a = rng.standard_normal((1000, 777)).astype(np.float32)
t = torch.from_numpy(a)
total, ref = t.sum().item(), float(a.sum())
print(total, ref)
assert total == ref, "torch.sum is not numpy's sum"
