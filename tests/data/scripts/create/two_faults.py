import torch
import torch._inductor.config as ic

ic.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"
ic.cpp.inject_log1p_bug_TESTING_ONLY = "accuracy"

def inner(x):
    y = torch.log1p(x)
    b = y > 0
    b = torch.logical_not(b)
    b = torch.logical_not(b)
    x = torch.relu(x)
    return torch.where(b, x, x)

torch.manual_seed(0)
x = torch.rand(20) - 0.2
ref = inner(x)
out = torch.compile(inner)(x)
assert torch.allclose(ref, out), "wrong"
