import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Dropout(0.2))
x = torch.randn(4, 16)
ep = torch.export.export(net, (x,))
package = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(ep))
torch.manual_seed(1)
ref = net(x)
torch.manual_seed(1)
out = package(x)
torch.testing.assert_close(out, ref)
