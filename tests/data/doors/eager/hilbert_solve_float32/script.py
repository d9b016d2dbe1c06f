import torch

n = 10
i = torch.arange(1, n + 1, dtype=torch.float64)
hilbert = 1.0 / (i[:, None] + i[None, :] - 1)
b = torch.ones(n, dtype=torch.float64)
exact = torch.linalg.solve(hilbert, b)
single = torch.linalg.solve(hilbert.float(), b.float())
print(exact[:3], single[:3])
torch.testing.assert_close(single.double(), exact, rtol=1e-2, atol=1e-2)
