# What a program sees of itself when a user runs `python repro.py` in an empty folder.
import inspect
import os
import sys

import __main__


def f(): pass


assert sys.argv == ["repro.py"] and __name__ == "__main__" and __main__.f is f
assert sys.path[0] == os.getcwd() and os.listdir(".") == ["repro.py"]
assert inspect.getsource(f) == "def f(): pass\n"
assert not any("collectors" in entry for entry in sys.path)
assert sys.stdin.read() == "" and "MY_TOKEN" not in os.environ
