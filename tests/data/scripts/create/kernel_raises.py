import torch
import torch._inductor.config as ic

ic.cpp.inject_relu_bug_TESTING_ONLY = "runtime_error"

def tower(x):
    h = x.sin() + 1
    h = torch.relu(h) * 2
    return torch.cos(h)

torch.manual_seed(0)
x = torch.randn(8)
ref = tower(x)
out = torch.compile(tower)(x)
