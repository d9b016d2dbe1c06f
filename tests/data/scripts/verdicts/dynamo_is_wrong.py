"""Dynamo is told to trace another function than eager calls."""

import torch


def eager(x):
    return torch.sin(x)


@torch._dynamo.substitute_in_graph(eager, skip_signature_check=True)
def traced(x):
    return torch.cos(x)


torch.compile(lambda x: eager(x) + 1, backend="eager")(torch.ones(3))
