"""A backend that is known by its name, and none of torch's own."""

import torch
from torch._dynamo import register_backend


@register_backend(name="workshop")
def workshop(gm, inputs):
    raise ValueError("no")


torch.compile(lambda x: x + 1, backend="workshop")(torch.ones(3))
