import os

n = 0
try:
    while os.fork():
        n += 1
except OSError:
    print("refused after", n < 64)
