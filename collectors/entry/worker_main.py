"""Entry point of the target side's candidate runner: finds its package without touching
``sys.path``.

The user's interpreter runs this file by location.  Python puts the file's folder first on
``sys.path``; it is taken off before anything is imported, so a candidate never sees the modules
that lie here, and the package is loaded under a private name that no user module can have.

    worker_main.py serve --requests FD --answers FD --workdir DIR [--isolation fork|spawn] [--warm
    BACKEND] worker_main.py once --folder DIR [--warm BACKEND]        one request on stdin, run in
    this very process
"""

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import importlib.util
import os
import types

PRIVATE_NAME = "_bugreport_collectors"


def load_package(folder: str, name: str = PRIVATE_NAME) -> types.ModuleType:
    """Load the package in ``folder`` as the module ``name``; ``sys.path`` stays as it is."""
    if name in sys.modules:
        return sys.modules[name]
    init = os.path.join(folder, "__init__.py")
    if not os.path.exists(init):
        package = types.ModuleType(name)
        package.__path__ = [folder]
        sys.modules[name] = package
        return package
    spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[folder])
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load the package in {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main(arguments: list[str]) -> int:
    """Loads the collectors and hand over to its ``worker`` module."""
    load_package(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    worker = importlib.import_module(PRIVATE_NAME + ".worker.worker")
    result: int = worker.main(arguments)
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
