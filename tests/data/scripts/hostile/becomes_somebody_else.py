import ctypes
import os

for number in (0, 1, 1000):
    try:
        if os.getuid() != number:
            os.setuid(number)
            print("became", number)
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
print("mounted" if libc.mount(b"none", b"/tmp/home", b"tmpfs", 0, None) == 0 else "held")
print("traced" if libc.ptrace(16, 1, 0, 0) == 0 else "held")
