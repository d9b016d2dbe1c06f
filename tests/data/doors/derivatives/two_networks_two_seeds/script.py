import torch
from torch import nn

torch.manual_seed(0)
fast_net, net = nn.Linear(4, 2), nn.Linear(4, 2)
fast_opt = torch.optim.SGD(fast_net.parameters(), lr=0.1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
step = torch.compile(fast_opt.step, backend="aot_eager")
x = torch.randn(8, 4)
for n, s in ((fast_net, step), (net, opt.step)):
    n(x).pow(2).sum().backward()
    s()
torch.testing.assert_close(fast_net.weight, net.weight)
