import torch

def fn(x):
    y = x.to(dtype=torch.float16).to(dtype=torch.float32)
    return y, y.sum(dim=1)

x = torch.arange(20, dtype=torch.float32).reshape(5, 4).t() / 7.0

compiled_fn = torch.compile(fn, backend="inductor", dynamic=False)

eager_y, eager_sum = fn(x)
compiled_y, compiled_sum = compiled_fn(x)

print("eager_y:",eager_y)
print("compiled_y:", compiled_y)
