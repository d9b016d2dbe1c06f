import sys

while True:
    sys.stdout.write("x" * (1 << 20))
