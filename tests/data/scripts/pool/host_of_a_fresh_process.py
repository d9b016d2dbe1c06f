# Runs one program in a fresh process and waits for it: INTERPRETER FOLDER, with the program on the standard input.
import os
import sys
from pathlib import Path

from reporter.execution.fresh_process import run_cold

environment = {**os.environ, "NOTES": sys.argv[2]}
run_cold(Path(sys.argv[1]), sys.stdin.read(), 100000, environment, describe=True)
