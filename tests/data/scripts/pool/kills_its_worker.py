# Kills the process that started it, once there is another candidate beside it.
import os
import signal
import time

while not os.path.exists(os.path.join(os.environ["NOTES"], "innocent")):
    time.sleep(0.02)
os.kill(os.getppid(), signal.SIGKILL)
while True:
    time.sleep(1)
