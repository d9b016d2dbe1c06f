"""A process that torchrun starts: the program as torchrun would have run it, with the recorder
waiting for torch.

`python launched_main.py SPEC.json NUMBER [-m] TARGET [ARGS…]`; NUMBER counts the processes of the
program, whose own spec is given.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import Any


def _load_bootstrap() -> Any:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap.py")
    spec = importlib.util.spec_from_file_location("_bugreport_bootstrap", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Runs the target to its end, with its exit code."""
    bootstrap = _load_bootstrap()
    bootstrap.load_package()
    starting = importlib.import_module(bootstrap.PACKAGE + ".record.starting")
    processes = importlib.import_module(bootstrap.PACKAGE + ".machine.processes")
    endings = importlib.import_module(bootstrap.PACKAGE + ".record.ending")
    path, number, *words = sys.argv[1:]
    processes.die_with_parent(os.getppid())  # torchrun gives it a session of its own
    ending = bootstrap.begin_child(path, int(number))
    is_module = words[0] == "-m"
    sys.argv = words[1:] if is_module else words
    try:
        starting.run({"kind": "module" if is_module else "script"})
    except SystemExit:
        raise
    except BaseException as error:  # a script may raise anything
        ending["exit"], ending["exception"] = 1, endings.describe_exception(error)
        bootstrap.show(error)
        sys.exit(1)
    finally:
        endings.await_threads()


if __name__ == "__main__":
    main()
