import os

refused = 0
while refused < 50:
    try:
        os.fork()
    except OSError:
        refused += 1
print("held")
