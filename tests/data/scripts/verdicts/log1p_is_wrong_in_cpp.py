"""A fault that torch itself injects for its tests."""

import torch

torch._inductor.config.cpp.inject_log1p_bug_TESTING_ONLY = "accuracy"
print(torch.compile(lambda x: torch.log1p(x) * 2)(torch.arange(5.0)))
