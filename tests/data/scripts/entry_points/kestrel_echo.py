import torch
import torch._inductor.config

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"


def kestrel_echo(pings):
    return torch.log1p(pings.relu() * 3)


def test_echo():
    torch.manual_seed(0)
    torch.compile(kestrel_echo)(torch.randn(16, 16))
