"""Backends that turn what `read` finds in the arguments into a constant: right for the first call only."""

import torch


def baked(read):
    def backend(gm, example_inputs):
        known = []

        def run(*args):
            value = read(args)
            known.append(value)
            off = value - known[0]
            return [out + off if isinstance(out, torch.Tensor) else out for out in gm.forward(*args)]

        return run

    return backend


def columns(args):
    """The second size of the first tensor."""
    return [a for a in args if isinstance(a, torch.Tensor)][0].shape[1]


def number(args):
    """The last argument that is no tensor."""
    return [a for a in args if not isinstance(a, torch.Tensor)][-1]
