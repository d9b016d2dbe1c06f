import numpy as np
import torch

x = torch.tensor([-1.0, -2.5, 300.0, 1e10, float("nan")])
got = torch.cat([x.to(torch.int32), x.repeat(8).to(torch.int32)[-5:]])
want = torch.from_numpy(np.concatenate([x.numpy().astype(np.int64).astype(np.int32)] * 2))
print(got, want)
assert torch.equal(got, want), "the cast overflows differently"
