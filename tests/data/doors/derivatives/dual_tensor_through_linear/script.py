import torch
import torch.autograd.forward_ad as fwAD

linear = torch.nn.Linear(4, 4)
compiled = torch.compile(linear)
x, direction = torch.randn(2, 4), torch.randn(2, 4)
with torch.no_grad(), fwAD.dual_level():
    tangent = fwAD.unpack_dual(compiled(fwAD.make_dual(x, direction))).tangent
torch.testing.assert_close(tangent, direction @ linear.weight.T)
