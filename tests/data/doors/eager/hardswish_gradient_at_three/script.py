import torch

x = torch.full((1, 9, 9, 1), 3.0, dtype=torch.bfloat16, requires_grad=True)
y = torch.nn.Hardswish()(x)
y.backward(torch.ones_like(y))
expected = torch.full((1, 9, 9, 1), 1.5, dtype=torch.bfloat16)
print(x.grad.flatten())
torch.testing.assert_close(x.grad, expected)
