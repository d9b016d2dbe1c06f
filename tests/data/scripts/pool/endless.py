# Starts a process of its own, says which, and never ends.
import subprocess
import time

print(subprocess.Popen(["sleep", "100000"]).pid, flush=True)


def spin():
    while True:
        time.sleep(1)


spin()
