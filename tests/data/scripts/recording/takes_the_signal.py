"""The call puts a handler of its own where others would be asked for their stacks."""

import signal

import torch
from held_clock import pass_by, stand_still


def backend(gm, inputs):
    signal.signal(signal.SIGUSR2, lambda *_: pass_by(60))
    stand_still()


torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
