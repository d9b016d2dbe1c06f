import fcntl
import subprocess
import sys

import torch

net = torch.compile(torch.nn.Linear(3, 3), backend="eager")
read = [sys.executable, "-c", "import sys; print(len(sys.stdin.buffer.read()))"]
reader = subprocess.Popen(read, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for _ in range(3):
    with open(sys.argv[1], "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        reader.stdin.write(net(torch.ones(2, 3)).detach().numpy().tobytes())
reader.stdin.close()
print(reader.stdout.read())
