import os
import signal
import time

for target in (os.getppid(), 1, -1):
    try:
        os.kill(target, signal.SIGKILL)
    except OSError:
        pass
time.sleep(0.2)
print("alive")
