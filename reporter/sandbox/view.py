"""What of this machine a sandbox shows: the system's programs and libraries, and of an
interpreter's environment what Python needs.

Everything is an allow-list and read-only. Of a folder such as `~/.local`, which may be an
environment and hold a keyring, only the parts that make an environment (`bin`, `lib`, `include`, …)
are shown.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reporter.execution import interpreter

_SYSTEM_LINKS = ("bin", "sbin", "lib", "lib64", "lib32", "libx32")
_SYSTEM = (
    "/usr",
    "/nix/store",
    "/gnu/store",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
)
_PARTS = ("bin", "lib", "lib64", "libexec", "include", "pyvenv.cfg", "nvvm", "targets")
_ASK = """
import importlib.util, os, site, sys
SITES = ("site-packages", "dist-packages")
PACKAGES = ("torch", "torchgen", "functorch", "triton")
def place(name):
    try: spec = importlib.util.find_spec(name)
    except (ImportError, ValueError): return []
    if spec is None: return []
    return list(spec.submodule_search_locations or ([spec.origin] if spec.origin else []))
answer(
    prefixes=[sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix],
    sites=[path for path in sys.path if os.path.basename(path.rstrip("/")) in SITES],
    packages=[path for name in PACKAGES for path in place(name)],
)
"""


@dataclass(frozen=True)
class View:
    """Read-only paths (same path inside and outside), links to make, and what `PYTHONPATH` has to
    add for them to be found.
    """

    shown: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    search: tuple[str, ...] = ()

    def __add__(self, other: View) -> View:
        return View(
            _drop_nested((*self.shown, *other.shown)),
            tuple(dict.fromkeys((*self.links, *other.links))),
            tuple(dict.fromkeys((*self.search, *other.search))),
        )


def build_system_view() -> View:
    """The programs and libraries of the operating system: no home, no configuration, no sockets."""
    shown, links = [path for path in _SYSTEM if os.path.exists(path)], []
    for name in _SYSTEM_LINKS:
        path = f"/{name}"
        if os.path.islink(path):
            links.append((os.readlink(path), path))
        elif os.path.isdir(path):
            shown.append(path)
    return View(tuple(shown), tuple(links))


@functools.lru_cache(maxsize=64)
def build_interpreter_view(python: Path) -> View:
    """What `python` needs to start and to import torch.

    Raises:
        UsageError: it cannot be asked.
    """
    facts = interpreter.ask(python, _ASK)
    prefixes = list(dict.fromkeys([*facts["prefixes"], *map(os.path.realpath, facts["prefixes"])]))
    paths = [part for prefix in prefixes for part in _list_parts(prefix)]
    hidden = [path for path in facts["sites"] if not _lies_within(path, [*paths, *_SYSTEM])]
    paths += [*hidden, os.path.realpath(python)]
    # an editable installation keeps its packages where they are developed
    paths += [path for path in facts["packages"] if not _lies_within(path, paths)]
    paths = [path for path in paths if os.path.exists(path)]
    # a user's own packages lie in a home that is not shown, where Python would not look
    return View(_drop_nested(paths), _list_links(python, paths), tuple(hidden))


def build_tool_view() -> View:
    """The tool itself with its interpreter, for those measurements that need all of it next to the
    foreign code.

    Raises:
        UsageError: its interpreter cannot be asked.
    """
    root = Path(__file__).resolve().parents[2]
    parts = [str(root / name) for name in ("reporter", "anonymizer", "templates", "collectors")]
    return build_interpreter_view(Path(sys.executable)) + View(tuple(parts))


def _list_parts(prefix: str) -> list[str]:
    if prefix == "/" or not os.path.isdir(prefix):
        return []
    # a conda environment keeps its compilers' C library under the name of the machine
    names = [n for n in os.listdir(prefix) if n in _PARTS or n.endswith("-linux-gnu")]
    return [os.path.join(prefix, name) for name in sorted(names)]


def _list_links(python: Path, shown: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The links from `python` to the file it is in the end, as far as they lie where nothing is
    shown.
    """
    found, path = [], os.path.abspath(python)
    for _ in range(20):
        if not os.path.islink(path):
            break
        target = os.readlink(path)
        if not _lies_within(path, [*shown, *_SYSTEM]):
            found.append((target, path))
        path = os.path.normpath(os.path.join(os.path.dirname(path), target))
    return tuple(found)


def _lies_within(path: str, paths: Iterable[str]) -> bool:
    return any(path == each or path.startswith(each.rstrip("/") + "/") for each in paths)


def _drop_nested(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths without those that lie within another or within what is always shown."""
    kept: list[str] = []
    for path in sorted(dict.fromkeys(paths), key=len):
        if not _lies_within(path, kept) and not (
            _lies_within(path, _SYSTEM) and path not in _SYSTEM
        ):
            kept.append(path)
    return tuple(kept)
