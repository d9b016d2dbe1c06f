import torch
import torch._inductor.config as ic

ic.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"
from torch.compiler import nested_compile_region

@nested_compile_region
def block(x, w):
    return torch.relu(x @ w) + 1.5

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(8, 8))

    def forward(self, x):
        y = block(x, self.w)
        y = block(y, self.w)
        return y.sin()

torch.manual_seed(0)
net = Net()
x = torch.randn(4, 8)
ref = net(x)
out = torch.compile(net)(x)
assert torch.allclose(ref, out, atol=1e-4), "wrong"
