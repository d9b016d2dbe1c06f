import glob
import os

seen = [dict(os.environ)]
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        seen.append(open(path, "rb").read())
    except OSError:
        pass
token = b"ghp_" + b"canary"
print("SECRET" if any(token in repr(item).encode() for item in seen) else "nothing")
