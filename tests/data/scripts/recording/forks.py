import os

pid = os.fork()
if pid == 0:
    os._exit(3)
os.waitpid(pid, 0)
