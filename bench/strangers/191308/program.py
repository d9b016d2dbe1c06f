import torch

def model(a, b):
    return torch.matmul(a, b)

a = torch.ones((1, 1, 2), dtype=torch.int8)
b = torch.ones((1, 2, 2), dtype=torch.int8)

eager = model(a, b)
compiled = torch.compile(
    model,
    backend="inductor",
    fullgraph=True,
    dynamic=False,
)(a, b)

print("torch:", torch.__version__)
print("git:", torch.version.git_version)
print("eager:", eager, eager.dtype)
print("compiled:", compiled, compiled.dtype)

assert compiled.dtype == eager.dtype
