import torch
import torch._inductor.config
import torch.nn.functional as F

torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "compile_error"
torch.compile(lambda x: (x.cumsum(0), F.relu(x @ x + 1)))(torch.ones(3, 3))
