"""The interpreter that has the user's torch is another program: it is asked, in a process, never
imported.

`find` chooses it, `probe` asks it what it is and `ask` anything else. What cannot be used is
refused with a UsageError before anything has been written.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from collectors.protocol.failure import name_signal
from reporter.core.errors import UsageError
from reporter.core.json_values import Json
from reporter.core.settings import InterpreterOptions
from reporter.core.tokens import remove_tokens
from reporter.report.public_values import read_public_commit, read_public_version

_OLDEST_PYTHON = (3, 9)
_OLDEST_TORCH = (2, 0)
# Importing torch from a cold network disk takes a minute; longer than this is a hang.
_PROBE_SECONDS = 180
_WAY_OUT = "choose another with --python PATH"
_OTHER_WAY_OUT = "choose another with --differs-from PATH"

# A line of its own marks the answer, since an import may print. The empty first entry of sys.path
# is the working directory, where a file of the user's could hide a module of the same name.
_MARK = "bugreport-answer:"
_PREAMBLE = f"""
import json, sys
if sys.path and sys.path[0] == "": del sys.path[0]
def answer(**facts):
    sys.stdout.write("\\n{_MARK}" + json.dumps(facts) + "\\n"); sys.stdout.flush()
"""

_FACTS = """
import os, platform
facts = {"version": platform.python_version()}
facts["python"] = list(sys.version_info[:2])
facts["prefix"] = os.path.realpath(sys.prefix)
"""

_PROBE = _FACTS + """
try:
    import torch
except ImportError as error:
    missing = getattr(error, "name", None) == "torch"
    missing = missing and type(error).__name__ == "ModuleNotFoundError"
    answer(missing=missing, error="%s: %s" % (type(error).__name__, error), **facts)
except BaseException as error:
    answer(missing=False, error="%s: %s" % (type(error).__name__, error), **facts)
else:
    version = getattr(torch, "version", None)
    cuda = getattr(torch, "cuda", None)
    facts["torch"] = str(getattr(torch, "__version__", ""))
    facts["torch_git"] = getattr(version, "git_version", None)
    facts["has_cuda"] = bool(cuda is not None and cuda.is_available())
    answer(**facts)
"""

# What torch/version.py says takes no import, nor does a GPU that no driver is there for; where that
# does not say all, there is no answer.
_READ = _FACTS + """
import ctypes, importlib.util
try:
    torch = importlib.util.find_spec("torch")
    path = os.path.join(os.path.dirname(torch.origin), "version.py")
    said = {}
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), said)
    facts["torch"], facts["torch_git"] = said["__version__"], said["git_version"]
    facts["has_cuda"] = False
    if said["cuda"] is not None:
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            pass
        else:
            raise LookupError("a driver that only torch can ask")
    if said["hip"] is not None or said.get("xpu") is not None:
        raise LookupError("other GPUs")
except Exception:
    answer()
else:
    answer(**facts)
"""

_FIND_MODULE = """
import importlib.util
sys.path.insert(0, "")
try:
    found = importlib.util.find_spec(sys.argv[1]) is not None
except (ImportError, ValueError):
    found = False
answer(found=found)
"""


@dataclass(frozen=True)
class InterpreterInfo:
    """What an interpreter says about itself.

    `torch` is its release, in which `+local` stands for a build that is not public; `torch_git` is
    the commit that it was built from, `prefix` the folder of its environment.
    """

    path: Path
    version: str
    torch: str
    torch_git: str | None
    has_cuda: bool
    prefix: str


def find(options: InterpreterOptions) -> Path:
    """The interpreter to drive: --python, else the active environment's, else the tool's own.

    Links are not followed, because an environment's `python` is a link that must keep its place.

    Raises:
        UsageError: the one that was chosen does not exist.
    """
    if options.python is not None:
        return _find(options.python, options.cwd, _WAY_OUT)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = os.environ.get(variable)
        if folder:
            python = _find_python(Path(folder))
            if python is None:
                problem = f"the active environment {folder} ({variable}) has no Python interpreter"
                raise UsageError(f"{problem}; {_WAY_OUT}")
            return python
    return Path(sys.executable)


def probe_others(options: InterpreterOptions, here: InterpreterInfo) -> tuple[InterpreterInfo, ...]:
    """The interpreters of --differs-from, each asked as `probe` does and each another one than
    `here`.

    Two of the same torch release are fine: they may be different builds, or differ in what is
    installed beside it.

    Raises:
        UsageError: one cannot be used, or is that of `here`.
    """
    found: list[InterpreterInfo] = []
    for path in options.differs_from:
        info = probe(_find(path, options.cwd, _OTHER_WAY_OUT), way_out=_OTHER_WAY_OUT)
        if info.prefix == here.prefix:
            raise UsageError(
                f"{path} is the interpreter that the script runs in ({here.path}), so nothing can"
                f" differ; {_OTHER_WAY_OUT}"
            )
        if info.prefix not in [known.prefix for known in found]:
            found.append(info)
    return tuple(found)


def _find(path: Path, cwd: Path, way_out: str) -> Path:
    if path.is_dir():
        python = _find_python(path)
        if python is None:
            raise UsageError(f"{path} is a folder without a Python interpreter; {way_out}")
        return python
    if path.parent == Path():  # a bare command name
        found = shutil.which(str(path))
        if found is not None:
            return Path(found)
    if not path.exists():
        raise UsageError(f"there is no interpreter {path}; {way_out}")
    return Path(os.path.abspath(cwd / path))


def _find_python(folder: Path) -> Path | None:
    names = ("Scripts/python.exe", "python.exe") if os.name == "nt" else ("bin/python",)
    return next((path for name in names if (path := folder / name).exists()), None)


def probe_files(python: Path, variables: Mapping[str, str] = os.environ) -> InterpreterInfo:
    """As `probe`, without the seconds that an import of torch takes, where what torch's own files
    say is enough; whether that torch can be imported is not known then.

    Raises:
        UsageError: as `probe` does.
    """
    facts = ask(python, _READ, variables=variables)
    return _describe(python, facts, _WAY_OUT) if facts else probe(python, variables)


def probe(
    python: Path, variables: Mapping[str, str] = os.environ, way_out: str = _WAY_OUT
) -> InterpreterInfo:
    """Ask `python` for its version and its torch; takes as long as `import torch`, a few seconds.

    Args:
        variables: the environment that it is asked in, from which tokens are taken.
        way_out: what a refusal advises.

    Raises:
        UsageError: it cannot be run, is no Python, is too old, or has no torch that can be used.
    """
    facts = ask(python, _PROBE, variables=variables, way_out=way_out)
    return _describe(python, facts, way_out)


def _describe(python: Path, facts: Json, way_out: str) -> InterpreterInfo:
    if tuple(facts["python"]) < _OLDEST_PYTHON:
        wanted = ".".join(map(str, _OLDEST_PYTHON))
        raise UsageError(
            f"{python} is Python {facts['version']}, but at least {wanted} is needed; {way_out}"
        )
    if facts.get("missing"):
        raise UsageError(f"{python} has no torch; install it there or {way_out}")
    if "error" in facts:
        reason = facts["error"].strip().splitlines()[0]
        raise UsageError(
            f"the torch of {python} cannot be imported ({reason}); repair it or {way_out}"
        )
    if _parse_release(facts["torch"]) < _OLDEST_TORCH:
        name = f"torch {facts['torch']}" if facts["torch"] else "a torch without a version"
        raise UsageError(f"{python} has {name}, but torch.compile needs at least 2.0; {way_out}")
    return InterpreterInfo(
        path=python,
        version=facts["version"],
        torch=read_public_version(facts["torch"], git=facts["torch_git"]),
        torch_git=read_public_commit(facts["torch_git"]),
        has_cuda=facts["has_cuda"],
        prefix=facts["prefix"],
    )


def _parse_release(version: str) -> tuple[int, ...]:
    """(2, 13) of "2.13.0+cpu" or "2.13.0a0+git1234"; (0, 0) of what is no version."""
    parts = version.split("+")[0].split(".")[:2]
    return tuple(int(part) for part in parts) if all(p.isdigit() for p in parts) else (0, 0)


def ask(
    python: Path,
    code: str,
    arguments: Sequence[str] = (),
    cwd: Path | None = None,
    variables: Mapping[str, str] = os.environ,
    way_out: str = _WAY_OUT,
) -> Json:
    """Run `code` in `python`; the code calls `answer(**facts)` once, and the facts come back.

    Args:
        arguments: what the code has in `sys.argv[1:]`.
        cwd: the folder to run in; None: ours.
        variables: the environment of the process, from which tokens are taken.
        way_out: the end of each error's sentence: what the user can do.

    Raises:
        UsageError: there is no answer: not executable, not Python, a crash or a hang on import.
    """
    command = [str(python), "-c", _PREAMBLE + code, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=remove_tokens(variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=_PROBE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"{python} gave no answer within {_PROBE_SECONDS:g} seconds; {way_out}"
        ) from None
    except OSError as error:
        raise UsageError(f"{python} cannot be run ({error.strerror or error}); {way_out}") from None
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            facts: Json = json.loads(line[len(_MARK) :])
            return facts
    if done.returncode < 0:
        name = name_signal(-done.returncode)
        raise UsageError(f"the torch of {python} cannot be imported (killed by {name}); {way_out}")
    raise UsageError(f"{python} does not behave like a Python interpreter; {way_out}")


def has_module(name: str, target: Path, cwd: Path) -> bool:
    """Whether an interpreter finds a top-level module; nothing of it is imported.

    Args:
        name: of the module, without a dot.
        target: the interpreter.
        cwd: the folder that a script would run in, whose modules are found, too.

    Raises:
        UsageError: the interpreter cannot be asked.
    """
    return bool(ask(target, _FIND_MODULE, [name], cwd=cwd)["found"])


def check_compiler() -> str | None:
    """A warning if there is no C++ compiler, which torch needs to compile for the CPU; else
    None.
    """
    named = os.environ.get("CXX")
    if named and shutil.which(named.split()[0]):
        return None
    if any(shutil.which(name) for name in ("g++", "clang++", "clang", "cl")):
        return None
    looked = f"CXX={named}, g++ or clang++" if named else "g++ or clang++"
    return f"no C++ compiler found ({looked}); without one every CPU program fails to compile"
