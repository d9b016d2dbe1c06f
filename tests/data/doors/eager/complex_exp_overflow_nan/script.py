import torch
import numpy as np

a = torch.tensor(501.+0.j)
print(a.exp(), np.exp(a.numpy()))
np.testing.assert_equal(a.exp().numpy(), np.exp(a.numpy()))
