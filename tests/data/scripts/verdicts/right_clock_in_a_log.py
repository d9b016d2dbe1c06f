import datetime
import time

import torch

log, last = [], [time.time()]


@torch._dynamo.disable
def note(x):
    log.append((time.time(), datetime.datetime.now().isoformat(), tuple(x.shape)))
    if time.time() - last[0] > 1.0:
        log.append("slow")
    last[0] = int(time.time())


@torch.compile
def program(x):
    y = x * 2
    note(x)
    return y + 1


for _ in range(2):
    program(torch.ones(3))
