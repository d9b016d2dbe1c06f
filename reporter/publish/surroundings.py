"""The names around a program: of variables, folders, hosts, people and remotes of this machine.

The leak check looks for them in all that leaves. It has them from the machine itself, not from what
was collected for the report.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from anonymizer.leakcheck.scanner import Terms, collect_surrounding_terms, list_texts
from reporter.core.json_values import Json
from reporter.core.tokens import remove_tokens
from reporter.report.public_values import list_public_words

_GIT_NAMES = re.compile(
    r'^\s*(?:url|pushurl|name|email|merge)\s*=\s*(.+)$|^\s*\[(?:remote|branch) "([^"]+)"\]',
    re.MULTILINE,
)
#: Words of variables that many machines have, and that a compiler's log may have too.
_USUAL = "backtrace noninteractive sandbox unbuffered certificates".split()
_OCTAL = re.compile(r"\\([0-7]{3})")


def find_terms(
    folder: Path, environment: Json, more: Iterable[str] = (), words: Iterable[str] = ()
) -> Terms:
    """What a report is searched for beside the words of its program.

    Args:
        folder: of the program; a git checkout around it is read.
        environment: the facts that the report has. What leaves with them is no leak.
        more: what the target knows and does not let out (see `list_withheld` in
            `reporter.report.environment`).
        words: torch's own.
    """
    shown = {word for text in list_texts(environment) for word in re.split(r"[\s,]+", text)}
    variables = dict(environment.get("variables") or {})
    shown |= {part for text in variables.values() for part in re.findall(r"\w+", str(text))}
    return collect_surrounding_terms(
        [*_list_names(folder, variables), *more],
        shown.union(list_public_words(), words, variables, _USUAL),
    )


def _list_names(folder: Path, shown: Mapping[str, object]) -> Iterator[str]:
    for name, value in remove_tokens(os.environ).items():
        if name not in shown:
            yield name
        if shown.get(name) != value:
            yield value
    yield from list_machine_names()
    yield from _list_checkout_names(folder)


@functools.lru_cache(maxsize=1)
def list_machine_names() -> tuple[str, ...]:
    """Hosts, domains, mounts and the user's full name, as far as this machine tells them."""
    found = [socket.gethostname(), _read(Path("/etc/hostname"))]
    for line in _read(Path("/etc/resolv.conf")).splitlines():
        if line.startswith(("search ", "domain ")):
            found += line.split()[1:]
    for line in _read(Path("/proc/self/mounts")).splitlines():
        found += [_OCTAL.sub(lambda code: chr(int(code[1], 8)), x) for x in line.split()[:2]]
    with contextlib.suppress(ImportError, KeyError, OSError):
        import pwd  # there is none on Windows

        found.append(pwd.getpwuid(os.getuid()).pw_gecos)
    found += _read_git_names(Path("~/.gitconfig"))
    return tuple(text.strip() for text in found if text.strip())


def _list_checkout_names(folder: Path) -> Iterator[str]:
    """Remotes, branches and people in the configuration of the checkout that holds a folder."""
    for place in (folder, *folder.parents):
        git = place / ".git"
        if git.is_file():  # of a worktree, or of a submodule
            named = _read(git).partition("gitdir: ")[2].strip()
            git = place / named if named else git
        if git.is_dir():
            yield place.name
            yield _read(git / "HEAD").partition("refs/heads/")[2]
            common = _read(git / "commondir").strip()
            yield from _read_git_names((git / common if common else git) / "config")
            return


def _read_git_names(config: Path) -> Iterator[str]:
    with contextlib.suppress(RuntimeError):  # there is no home
        for found in _GIT_NAMES.finditer(_read(config.expanduser())):
            yield found[1] or found[2]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
