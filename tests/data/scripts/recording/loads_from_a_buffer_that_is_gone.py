"""What is loaded from a buffer is not what lay in an earlier one at the same place of memory."""

import gc
import io
import weakref

import torch


class Scaled(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return x * self.scale


def save(module):
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(module, (torch.ones(2),)), buffer)
    return buffer


doubled = save(Scaled(2)).getvalue()
module = Scaled(3)
kept = weakref.ref(module)
place = id(save(module))
buffers = [io.BytesIO(doubled) for _ in range(1000)]
(buffer,) = [each for each in buffers if id(each) == place] or buffers[:1]
print(torch.export.load(buffer).module()(torch.ones(2)).tolist())
del module, buffers, buffer
gc.collect()
print(kept())
