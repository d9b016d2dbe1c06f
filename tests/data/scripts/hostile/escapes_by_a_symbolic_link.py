import os
import sys

place = sys.argv[1]
os.symlink(place, "/tmp/work/out")
os.symlink("/proc/1/root/" + place, "/tmp/work/out2")
for name in ("out", "out2"):
    try:
        open(name, "w").write("changed")
        print("wrote", name)
    except OSError as error:
        print("refused", error.errno)
