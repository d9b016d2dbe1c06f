import torch

device = torch.device('cpu')
dtype = torch.bfloat16

n = 512

x = torch.tensor([0, 1], dtype=dtype, device=device).repeat(n // 2)
y = torch.zeros(n, device=device, dtype=torch.int32)

print("x[:10] =", x[:10])
got = torch.zeros(1, dtype=dtype, device=device).index_reduce(0, y, x, 'mean').item()
print('index_reduce mean :', got)
print('mean              :', x.mean().item())
assert abs(got - 0.5) < 0.01
