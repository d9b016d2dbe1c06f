"""Entry point of the questions to Triton, each a fresh process: `triton_main.py SPEC.json`.

Like the candidates' entry point, it finds its package without touching `sys.path`.
"""

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib
import os
import runpy


def main(arguments: "list[str]") -> int:
    """Loads the collectors and hands over to those of Triton."""
    loader = runpy.run_path(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap.py")
    )
    loader["load_package"]()
    run = importlib.import_module(loader["PACKAGE"] + ".triton.run")
    result: int = run.main(arguments)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
