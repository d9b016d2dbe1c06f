import os

import torch

add = torch.compile(lambda x: x + 1, backend="eager")
for size in range(2, 5):
    add(torch.ones(size))
child = os.fork()
if child == 0:
    os._exit(0)
print(os.wait() == (child, 0))
try:
    os.wait()
except ChildProcessError:
    print("no other")
