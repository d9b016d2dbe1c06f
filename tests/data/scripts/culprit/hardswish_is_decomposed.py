import torch
from torch._inductor.decomposition import select_decomp_table

assert torch.ops.aten.hardswish.default in select_decomp_table(), "hardswish is left whole"
