import torch

def f(x):
    base = x.unsqueeze(1)
    a = torch.select(base, dim=1, index=0)
    b = torch.select(base, dim=1, index=1)
    return torch.cat([a, b], dim=-1)

x = torch.arange(12, dtype=torch.float32).reshape(3, 4)

try:
    eager_out = f(x)
    eager = f"OK {eager_out}"
except Exception as exc:
    eager = f"{type(exc).__name__} {str(exc).splitlines()[0]}"

try:
    compiled_out = torch.compile(f, backend="inductor", fullgraph=True)(x)
    compiled = f"OK {compiled_out}"
except Exception as exc:
    compiled = f"{type(exc).__name__} {str(exc).splitlines()[0]}"

print("x:", x)
print("eager:", eager)
print("compiled:", compiled)

if not eager.startswith("OK") and compiled.startswith("OK"):
    raise SystemExit(0)

raise SystemExit(1)
