import torch
import numpy as np

a = torch.tensor(-1e+4+0j)

out_np = np.arcsin(a.numpy()) # (-1.5707964+9.903487j)
out_cpu = torch.asin(a) # tensor(0.+infj)

np.testing.assert_allclose(out_np, out_cpu.numpy(), atol=1)
