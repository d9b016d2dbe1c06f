import torch
import torch._inductor.config

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"


def repro(x):
    return torch.relu(x).sum(1)


x = torch.randn(64, 133)
torch.testing.assert_close(torch.compile(repro)(x), repro(x))
