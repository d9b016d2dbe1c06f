import torch
torch.ops.aten.device.with_index('cuda', 0)
