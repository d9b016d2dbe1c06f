import os
import sys

system = ("/", "/dev", "/usr", "/usr/lib", "/bin", "/etc", "/proc", "/sys")
for place in (*system, sys.argv[1], os.path.dirname(os.__file__)):
    try:
        open(os.path.join(place, "planted"), "w").write("x")
        print("wrote", place)
    except OSError:
        pass
print("done")
