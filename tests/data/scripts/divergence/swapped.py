"""A backend that computes tanh where sigmoid is asked for."""

import torch


def swapped(gm, inputs):
    for node in gm.graph.nodes:
        if node.target is torch.sigmoid:
            node.target = torch.tanh
    gm.recompile()
    return gm.forward
