"""The backend fails when a function is compiled for the second time, and at no other time."""

import torch
from torch._guards import CompileContext


def backend(gm, inputs):
    if CompileContext.current_compile_id().frame_compile_id:
        raise NotImplementedError("compiled once already")
    return gm


f = torch.compile(lambda x: x * 2, backend=backend)
for n in (3, 4, 5):
    f(torch.ones(n))
