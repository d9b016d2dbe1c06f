import sys
from pathlib import Path

from reporter.sandbox import Limits, make_sandbox

python = Path(sys.executable)
files = {"x.py": Path(sys.argv[1]).read_text()}
limits = Limits(seconds=300, tasks=32)
with make_sandbox([str(python), "x.py"], python=python, files=files, limits=limits) as box:
    print(box.run())
