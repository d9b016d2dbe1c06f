"""The header that every CPU kernel of Inductor includes, compiled once where torch does not do it
itself: half of the time that g++ takes for a small kernel.

That is so where torch copies `cpp_prefix.h` into each cache, as 2.0.1 and 2.6.0 do; later ones
compile it (https://github.com/pytorch/pytorch/pull/144293). g++ takes `NAME.h.gch` instead of
`NAME.h` where that is the first thing that a file includes and the flags are the same, and reads
the header otherwise (https://gcc.gnu.org/onlinedocs/gcc/Precompiled-Headers.html).
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from unittest import mock

SUFFIX = ".gch"
_PATIENCE = 120.0


@contextlib.contextmanager
def record_commands() -> Iterator[list[list[str]]]:
    """The commands that this process starts meanwhile."""
    commands: list[list[str]] = []
    start: Callable[..., None] = subprocess.Popen.__init__

    def note_and_start(process: object, args: object, *rest: object, **options: object) -> None:
        if isinstance(args, (list, tuple)):
            commands.append([os.fsdecode(word) for word in args])
        start(process, args, *rest, **options)

    with mock.patch.object(subprocess.Popen, "__init__", note_and_start):
        yield commands


def precompile(commands: Sequence[Sequence[str]], cache: str) -> None:
    """Compiles the header of the kernels that `commands` have compiled, if it lies in `cache` and
    torch has left it as it is.
    """
    for command in commands:
        sources = [word for word in command if word.endswith(".cpp")]
        is_kernel = len(sources) == 1 and "-shared" in command and "-include" not in command
        if not is_kernel or "clang" in os.path.basename(command[0]):
            continue
        header = _read_first_include(sources[0])
        if header.startswith(os.path.join(cache, "")) and not os.path.exists(header + SUFFIX):
            _compile(_build_header_command(command, sources[0], header), header + SUFFIX)


def _read_first_include(source: str) -> str:
    """The path of the header that a file includes first; empty if that is none of its own."""
    with contextlib.suppress(OSError), open(source, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#include"):
                found = re.match(r'#include "(/.*)"', line)
                return found[1] if found else ""
    return ""


def _build_header_command(command: Sequence[str], source: str, header: str) -> list[str]:
    """The command that compiles a header as `command` compiles a kernel."""
    words: list[str] = []
    for before, word in zip(["", *command], command):
        if word == source:
            words += ["-x", "c++-header", header]
        elif before != "-o" and not re.match(r"-o|-[lL]|-shared$|$", word):
            words.append(word)
    return words


def _compile(command: Sequence[str], path: str) -> None:
    part = path + ".part"
    try:
        subprocess.run(
            [*command, "-o", part], check=True, timeout=_PATIENCE, stderr=subprocess.DEVNULL
        )
        os.replace(part, path)
    except (OSError, subprocess.SubprocessError):
        with contextlib.suppress(OSError):  # without it a kernel takes longer, that is all
            os.unlink(part)
