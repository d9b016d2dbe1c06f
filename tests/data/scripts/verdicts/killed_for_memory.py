import os
import signal

import torch


def backend(gm, inputs):
    os.kill(os.getpid(), signal.SIGKILL)


torch.compile(lambda x: x + 1, backend=backend)(torch.ones(3))
