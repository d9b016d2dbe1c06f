"""Entry point of everything about Triton kernels: `kernels_main.py SPEC.json`, in a fresh process.

Like the candidates' entry point, it finds its package without touching `sys.path`.
"""

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib
import os
import runpy


def main(arguments: "list[str]") -> int:
    """Loads the package next to this file and hands over to `kernels.run`."""
    loader = runpy.run_path(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap.py")
    )
    loader["load_package"]()
    result: int = importlib.import_module(loader["PACKAGE"] + ".kernels.run").main(arguments)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
