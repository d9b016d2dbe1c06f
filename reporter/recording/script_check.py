"""A script that cannot start is refused before anything runs: a file that is not there, a text that
is not valid Python, a module that is not found.

Each refusal is a UsageError. The grammar is that of the interpreter that will run it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from zipfile import is_zipfile

from reporter.core.errors import UsageError
from reporter.core.json_values import Json
from reporter.core.settings import ProgramOptions
from reporter.execution.interpreter import ask, has_module

_COMPILE = """
import warnings
warnings.simplefilter("ignore")
path = sys.argv[1]
try:
    with open(path, "rb") as file:
        compile(file.read(), path, "exec", dont_inherit=True)
except SyntaxError as error:
    answer(problem=error.msg, line=error.lineno)
except (ValueError, OverflowError, RecursionError, MemoryError) as error:
    answer(problem=str(error) or type(error).__name__, line=None)
else:
    answer(problem=None, line=None)
"""


def check_script(options: ProgramOptions, python: Path | None = None) -> None:
    """Refuse a script that cannot start; `python` is the interpreter whose grammar counts, or ours.

    A file without the ending `.py` is fine as long as it compiles.

    Raises:
        UsageError: there is none, or it is no Python.
    """
    if options.script is None and options.module is None:
        if options.resume is None:
            raise UsageError("no script was given; name one, as in `bugreport create train.py`")
        return
    target = python or Path(sys.executable)
    if options.module is not None:
        _check_module(options.module, target, options.cwd)
    elif options.script is not None:
        _check_file(options.script, target, options.cwd)


def _check_module(module: str, target: Path, cwd: Path) -> None:
    # Only the first part: finding a sub-module would import its parents, which is the run's
    # business.
    if not has_module(module.partition(".")[0], target, cwd):
        problem = f"{target} finds no module {module} from {cwd}"
        raise UsageError(f"{problem}; correct the name or start from the folder that holds it")


def check_file(script: Path, cwd: Path) -> None:
    """Refuses what is no readable file.

    Raises:
        UsageError: it is missing, a folder, or unreadable.
    """
    path = cwd / script
    if path.is_dir():
        raise UsageError(f"{script} is a directory; give the script in it, or use -m MODULE")
    if not path.exists():
        raise UsageError(f"there is no file {script}; give the path of a Python script")
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{script} cannot be read ({reason}); make it readable first") from None


def _check_file(script: Path, target: Path, cwd: Path) -> None:
    check_file(script, cwd)
    if is_zipfile(cwd / script):
        raise UsageError(
            f"{script} is a zip file, and zipapps are not supported; give the script in it, or use"
            " -m MODULE"
        )
    _refuse_grammar(str(script), target, ask(target, _COMPILE, [str(cwd / script)]))


def check_text(text: str, target: Path) -> None:
    """Refuses a script from the standard input that is not valid Python.

    Raises:
        UsageError: it is not.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        _refuse_grammar("the standard input", target, ask(target, _COMPILE, [file.name]))


def _refuse_grammar(what: str, target: Path, found: Json) -> None:
    if found["problem"] is not None:
        line = f", line {found['line']}" if found["line"] else ""
        problem = f"{what}{line} is not valid Python for {target}"
        raise UsageError(f"{problem} ({found['problem']}); correct it, or choose another --python")
