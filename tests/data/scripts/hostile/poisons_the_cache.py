import os

cache = os.environ["TORCHINDUCTOR_CACHE_DIR"]
print("before", os.listdir(cache))
open(os.path.join(cache, "evil.so"), "w").write("x")
try:
    open("/seed/evil.so", "w").write("x")
    print("wrote the seed")
except OSError:
    print("held")
