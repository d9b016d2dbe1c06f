# Runs one candidate in a pool of its own and waits for it: INTERPRETER FOLDER, with the candidate on the standard input.
import os
import sys
from pathlib import Path

from reporter.execution.worker_pool import WorkerPool, WorkerSettings

environment = {**os.environ, "NOTES": sys.argv[2]}
pool = WorkerPool(Path(sys.argv[1]), 2, environment, Path(sys.argv[2]), WorkerSettings("eager"))
pool.submit(sys.stdin.read(), timeout=100000).result()
