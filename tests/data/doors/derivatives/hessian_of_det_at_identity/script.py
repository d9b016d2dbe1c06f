import torch

x = torch.eye(3, dtype=torch.float64)
actual = torch.func.hessian(torch.linalg.det)(x)
expected = torch.autograd.functional.hessian(torch.linalg.det, x)
torch.testing.assert_close(actual, expected)
