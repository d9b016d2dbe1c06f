import torch
import torch._inductor.lowering
from torch._inductor.lowering import lowerings

lowerings[torch.ops.aten.sin.default] = lowerings[torch.ops.aten.cos.default]
torch.compile(torch.sin)(torch.ones(3))
