"""Ends the process that started it, and goes on as if nothing were."""

import os
import signal
import time

os.kill(os.getppid(), signal.SIGKILL)
time.sleep(600)
print("still here")
