"""Programs that mean harm, and what has to come of each; PLACE, KEYS and PORT stand for what a test puts in.

They need no torch: what holds for plain Python holds for whatever runs in it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hostile:
    """A program, the ending it must have (several where the race between kernel and watch decides), and a word of its output."""

    text: str
    endings: tuple[str, ...] = ("exited",)
    says: str = ""
    slow: bool = False


PROGRAMS = {
    "reads the home": Hostile(
        """
import glob, os
found = []
for place in (os.path.expanduser("~/.ssh"), "/root/.ssh", "/home", "/etc/shadow", "/etc/hostname", "PLACE", "KEYS"):
    try:
        found.append(open(place).read() if os.path.isfile(place) else os.listdir(place))
    except OSError:
        pass
print("found", found, glob.glob("/home/*/*"), glob.glob("/root/.[!cp]*"))
""",
        says="found [] [] []",
    ),
    "opens a socket": Hostile(
        """
import socket
for family, address in ((socket.AF_INET, ("127.0.0.1", PORT)), (socket.AF_INET, ("1.1.1.1", 53)), (socket.AF_UNIX, "\\0bugreport-test")):
    try:
        s = socket.socket(family); s.settimeout(2); s.connect(address); print("connected", address)
    except OSError as error:
        print("refused", error.errno)
""",
        says="refused",
    ),
    "forks without end": Hostile(
        """
import os, sys
refused = 0
while refused < 50:
    try:
        os.fork()
    except OSError:
        refused += 1
print("held")
""",
        endings=("exited", "tasks", "timeout"),
        says="held",
    ),
    "allocates without end": Hostile(
        """
kept = []
while True:
    kept.append(bytearray(b"x" * (8 << 20)))
""",
        endings=("exited", "memory"),
        says="MemoryError",
    ),
    "allocates in many processes": Hostile(
        """
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = bytearray(b"x" * (64 << 20)); time.sleep(60)
time.sleep(60)
""",
        endings=("memory",),
    ),
    "writes one file without end": Hostile(
        """
with open("/tmp/big", "wb") as file:
    while True:
        file.write(b"x" * (1 << 20))
""",
        says="File too large",
    ),
    "writes files without end": Hostile(
        """
import itertools
for number in itertools.count():
    try:
        open(f"/tmp/{number}", "wb").write(b"x" * (2 << 20))
    except OSError:
        pass
""",
        endings=("disk",),
    ),
    "writes everywhere": Hostile(
        """
import os
for place in ("/", "/dev", "/usr", "/usr/lib", "/bin", "/etc", "/proc", "/sys", "PLACE", os.path.dirname(os.__file__)):
    try:
        open(os.path.join(place, "planted"), "w").write("x"); print("wrote", place)
    except OSError:
        pass
print("done")
""",
        says="done",
    ),
    "ignores every signal": Hostile(
        """
import os, signal, time
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(1)  # MARK
while True: time.sleep(1)  # MARK
""",
        endings=("timeout",),
    ),
    "leaves a child behind": Hostile(
        """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: time.sleep(1)  # MARK
print("gone")
""",
        says="gone",
    ),
    "escapes by a symbolic link": Hostile(
        """
import os
os.symlink("PLACE", "/tmp/work/out"); os.symlink("/proc/1/root/PLACE", "/tmp/work/out2")
for name in ("out", "out2"):
    try:
        open(name, "w").write("changed"); print("wrote", name)
    except OSError as error:
        print("refused", error.errno)
""",
        says="refused",
    ),
    "prints terminal escapes": Hostile(
        r"""
print("\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m \x9b1A \u202ethgir \x07bell\rback \x1b]52;c;aGk=\x1b\\end")
""",
        says="red",
    ),
    "poisons the cache": Hostile(
        """
import os
cache = os.environ["TORCHINDUCTOR_CACHE_DIR"]
print("before", os.listdir(cache))
open(os.path.join(cache, "evil.so"), "w").write("x")
try:
    open("/seed/evil.so", "w").write("x"); print("wrote the seed")
except OSError:
    print("held")
""",
        says="before []",
    ),
    "plants a sitecustomize": Hostile(
        """
import os, site, sys, sysconfig
print("planted" if "sitecustomize" in sys.modules and getattr(sys.modules["sitecustomize"], "EVIL", 0) else "clean")
for place in (sysconfig.get_path("purelib"), site.getusersitepackages(), sysconfig.get_path("stdlib"), os.getcwd()):
    try:
        os.makedirs(place, exist_ok=True)
        open(os.path.join(place, "sitecustomize.py"), "w").write("EVIL = 1")
    except OSError:
        pass
""",
        says="clean",
    ),
    "kills its parent": Hostile(
        """
import os, signal, time
for target in (os.getppid(), 1, -1):
    try: os.kill(target, signal.SIGKILL)
    except OSError: pass
time.sleep(0.2)
print("alive")
""",
        endings=("exited", "signal"),
    ),
    "prints megabytes": Hostile(
        """
import sys
while True:
    sys.stdout.write("x" * (1 << 20))
""",
        endings=("flood",),
    ),
    "reads the tokens": Hostile(
        """
import glob, os
seen = [dict(os.environ)]
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try: seen.append(open(path, "rb").read())
    except OSError: pass
print("SECRET" if any(b"ghp_" + b"canary" in repr(item).encode() for item in seen) else "nothing")
""",
        says="nothing",
    ),
    "becomes somebody else": Hostile(
        """
import ctypes, os, subprocess
for number in (0, 1, 1000):
    try:
        if os.getuid() != number:
            os.setuid(number); print("became", number)
    except OSError:
        pass
libc = ctypes.CDLL(None, use_errno=True)
print("mounted" if libc.mount(b"none", b"/tmp/home", b"tmpfs", 0, None) == 0 else "held")
print("traced" if libc.ptrace(16, 1, 0, 0) == 0 else "held")
""",
        says="held",
    ),
}
