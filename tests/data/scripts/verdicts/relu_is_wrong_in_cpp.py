import torch
import torch._inductor.config
import torch.nn.functional as F

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"
torch.compile(lambda x: F.relu(x) * 2)(torch.ones(3, 3))
