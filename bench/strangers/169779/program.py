import os

# os.environ["TORCH_LOGS"] = "output_code"
import torch

device = "cpu"

# device = "cuda"
# device = "mps"


def fn(x):
    indices = torch.tensor([-1], dtype=torch.int64).to(device)
    return torch.index_select(x, 0, indices)


x = torch.randn(5, 10).to(device)


print("--- Eager Run ---")
try:
    res = fn(x)
    res = res.cpu()
    print("Eager executed successfully")
except Exception as e:
    print(f"Eager Failed: {e}")

print("--- Inductor Run ---")
opt_fn = torch.compile(fn, backend="inductor", dynamic=True)
try:
    res = opt_fn(x)
    res = res.cpu()
    print("Inductor executed successfully")
except Exception as e:
    print(f"Inductor Failed: {e}")
