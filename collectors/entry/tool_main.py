"""Entry point of tools that get a fresh process of the user's interpreter: `tool_main.py
debugtools|triton SPEC.json`.

Like the candidates' entry point, it finds its package without touching `sys.path`.
"""

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib
import os
import runpy


def main(arguments: "list[str]") -> int:
    """Loads the collectors and hands over to the `run` of the tool named first."""
    loader = runpy.run_path(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap.py")
    )
    loader["load_package"]()
    tool = importlib.import_module("{}.{}.run".format(loader["PACKAGE"], arguments[0]))
    result: int = tool.main(arguments[1:])
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
