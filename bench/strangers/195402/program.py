import torch

def f(x, idx):
    return (x - 0.5)[idx]

x = torch.randn(1, 8, 66, 66)     # dim 0 has size 1
idx = torch.tensor([[1]])         # index 1 -> out of bounds on dim 0

try:
    f(x, idx)
except IndexError as e:
    print("eager raises catchable IndexError:", e)

print("calling compiled...", flush=True)
torch.compile(f, backend="inductor")(x, idx)   # process aborts
print("NOT REACHED")
