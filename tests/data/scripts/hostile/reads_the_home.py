import glob
import os
import sys

place, keys = sys.argv[1:3]
found = []
for name in ("~/.ssh", "/root/.ssh", "/home", "/etc/shadow", "/etc/hostname", place, keys):
    name = os.path.expanduser(name)
    try:
        found.append(open(name).read() if os.path.isfile(name) else os.listdir(name))
    except OSError:
        pass
print("found", found, glob.glob("/home/*/*"), glob.glob("/root/.[!cp]*"))
