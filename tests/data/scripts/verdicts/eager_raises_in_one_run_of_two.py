import sys
from pathlib import Path

import torch

log = Path(sys.argv[0]).with_name("runs")


@torch._dynamo.disable
def moody(x):
    with open(log, "a") as out:
        out.write("x")
    if log.stat().st_size == 2:
        raise ValueError("not today")
    return x


torch.compile(lambda x: moody(x) + 1, backend="eager")(torch.ones(3))
