"""Entry point of the target side's candidate runner: finds its package without touching
`sys.path`.

The user's interpreter runs this file by location. Python puts the file's folder first on
`sys.path`; it is taken off before anything is imported, so a candidate never sees the modules
that lie here, and the package is loaded under a private name that no user module can have.

    worker_main.py serve --requests FD --answers FD --workdir DIR [--isolation fork|spawn]
        [--warm-backend BACKEND] [--memory BYTES]
    worker_main.py once --folder DIR [--warm-backend BACKEND] [--memory BYTES]
    worker_main.py preloaded --socket PATH [--inductor]

With `once` one request comes on the standard input, and runs in this very process. With `preloaded`
requests come over a Unix socket, and each runs in a fork that has only imported torch.
"""

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib
import os
import runpy


def main(arguments: list[str]) -> int:
    """Loads the collectors and hands over to their `worker` module."""
    loader = runpy.run_path(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap.py")
    )
    loader["load_package"]()
    worker = importlib.import_module(loader["PACKAGE"] + ".worker.worker")
    result: int = worker.main(arguments)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
