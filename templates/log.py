"""The log cut to the frames that matter: the program's own, where the compiler is entered, and
where it was raised.

What lies between is the same in every report of the same layer. A frame is left out only together
with its source lines, and a line says how many there were, so nobody takes the rest for the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from templates.text import pluralize

_FRAME = re.compile(r'\s*File "([^"]+)", line \d+')
_PLACE = re.compile(r'^  File "([^"]+)", line \d+, in (\S+)', re.MULTILINE)
#: What Python draws below a line of source; the line itself says it, and there are as many of them
#: as frames.
_CARETS = re.compile(r"\s*[~^]+\s*")
#: What g++ and clang say after an error, with the source lines below it.
_NOTE = re.compile(r"^\S+\.(?:c|cc|cpp|cxx|cu|cuh|h|hpp):\d+(?::\d+)?: note: ")
_INCLUDED = re.compile(r"^(?:In file included from | +from )")
_ERROR = re.compile(r"^\S+:\d+(?::\d+)?: (?:fatal )?error: ")
#: How to get a longer log, which is no use to the one who reads this log.
_HINT = re.compile(
    r"^(?:Set TORCHDYNAMO_VERBOSE=1|Set TORCH_LOGS=|You can suppress this exception and fall back"
    r" to eager).*"
    r"(?:\n    (?:import torch\._dynamo|torch\._dynamo\.config\.suppress_errors).*)*\n?",
    re.MULTILINE,
)
#: Where all of Dynamo's exceptions are raised, for the caller.
_RAISES_FOR_OTHERS = "torch/_dynamo/exc.py"
#: Where every operator is called from, and modes stand between it and its caller.
_ANY_OPERATOR = "torch/_ops.py"
#: Below the exception: what was being traced (`torch/_dynamo/exc.py`, `torch/fx/interpreter.py`).
_TRACED = re.compile(
    r"^(?:from user code|Original traceback):\n(?:[ \t].*(?:\n|\Z))*", re.MULTILINE
)
_PROGRAM = ("repro.py", "test_repro.py", "<stdin>")
#: Files of ours that run a repro: they are no part of what failed.
_RUNNERS = ("candidate.py", "worker.py", "worker_main.py")
#: What faulthandler writes of a process that dies: two threads may abort at once, each into the
#: line of the other.
_FATAL = re.compile(r"^(?:Fatal Python error: )+(.+?)\1*$", re.MULTILINE)
_MODULES = re.compile(r"^Extension modules: .*\n?", re.MULTILINE)
_THREAD = re.compile(r"^(?=(?:Current t|T)hread (?:0x|0x…))", re.MULTILINE)
#: What C and C++ libraries say before they abort a process.
_SAID = re.compile(
    r"^\s*what\(\):\s*(?:kernel, )?(?:\S+:\d+, )?(.+)$"
    r"|^((?:free|malloc|realloc|munmap_chunk|corrupted|double free|\*\*\* )\S*[^\n]*)$"
    r"|(Assertion `[^\n]+' failed)",
    re.MULTILINE,
)
#: What Dynamo says of a graph break below its name, since torch 2.7.
_EXPLANATION = re.compile(r"^ *Explanation: (.+)$", re.MULTILINE)
#: What `torch.testing.assert_close` says of two numbers of Python.
_SCALARS = re.compile(r"Scalars are not (?:close|equal)!\s+Expected (\S+) but got (\S+)\.\s")
#: Frames nearest to the error that are kept, of each traceback in the log.
LAST = 8
#: Lines of the text after the frames of one traceback: a message may hold a compiler's whole
#: output.
_MESSAGE_LINES = 120


@dataclass(frozen=True)
class _Piece:
    """A frame with the lines that belong to it, or (`path` None) lines that are no frame."""

    path: str | None
    lines: tuple[str, ...]


def find_last_words(text: str) -> str:
    """What a library said, on one line, before it ended the process whose stderr is `text`; empty
    if nothing is known.
    """
    found = _SAID.search(text)
    return next((part.strip() for part in found.groups() if part), "") if found else ""


def find_explanation(text: str) -> str:
    """Why Dynamo breaks the graph, in its own words on one line; empty where no log says so."""
    found = _EXPLANATION.search(text)
    return found.group(1) if found else ""


def find_scalars(text: str) -> tuple[str, str] | None:
    """The two numbers of Python that an assertion of torch compares: the expected one and the other
    one.
    """
    found = _SCALARS.search(text)
    return (found[1], found[2]) if found else None


def _without_other_threads(text: str) -> str:
    """The stacks of a dead process without the threads that had no part in it, and without the list
    of modules.
    """
    text = _FATAL.sub(r"Fatal Python error: \1", _MODULES.sub("", text))
    head, *threads = _THREAD.split(text)
    current = [thread for thread in threads if thread.startswith("Current")]
    kept = current or [
        thread for thread in threads if any(f'"{own}"' in thread for own in _PROGRAM)
    ]
    return re.sub(r"\n{3,}", "\n\n", head + "".join(kept or threads)) if threads else text


def cut_log(text: str, last: int = LAST) -> str:
    """A log without the frames in the middle of its tracebacks, and without the middle of long
    messages.

    Args:
        text: what a process printed.
        last: how many frames stay at the end of each traceback; the program's own, and the
            compiler's first after each of them, stay everywhere.
    """
    text = _without_other_threads(text)
    lines: list[str] = []
    run: list[_Piece] = []
    for piece in (*_split_pieces(text), _Piece(None, ())):
        if piece.path is not None:
            run.append(piece)
            continue
        lines += _keep(run, last)
        run = []
        lines += _shorten(piece.lines)
    return _HINT.sub("", "\n".join(_without_notes(lines))).strip("\n")


def _without_notes(lines: Sequence[str]) -> Iterator[str]:
    """A C++ compiler's errors without the candidates that it went through: a hundred lines for
    each.
    """
    missing, inside = 0, False
    for line in lines:
        if _NOTE.search(line) or inside and _INCLUDED.match(line):
            inside = True
        elif inside and not line.startswith(" ") or _ERROR.search(line):
            inside = False
        if inside:
            missing += 1
            continue
        yield from _write_notes_gap(missing)
        missing = 0
        yield line
    yield from _write_notes_gap(missing)


def _write_notes_gap(missing: int) -> Iterator[str]:
    if missing:
        yield f"[... {pluralize(missing, 'line')} of the compiler's notes left out ...]"


def find_raising_frame(text: str) -> tuple[str, str] | None:
    """File and function of torch that raised what a log ends in; None where that was not in torch,
    in an operator, or no log says so.
    """
    frames: list[tuple[str, str]] = _PLACE.findall(_TRACED.sub("", text))
    while frames and frames[-1][0] == _RAISES_FOR_OTHERS:
        frames.pop()
    place = frames[-1][0] if frames else ""
    return frames[-1] if place.startswith("torch/") and place != _ANY_OPERATOR else None


def _split_pieces(text: str) -> Iterator[_Piece]:
    path: str | None = None
    lines: list[str] = []
    for line in text.splitlines():
        found = _FRAME.match(line)
        indent = len(line) - len(line.lstrip())
        ends = path is not None and indent < 4
        if found is not None or ends:
            if lines:
                yield _Piece(path, tuple(lines))
            path, lines = (found.group(1) if found else None), []
        lines.append(line)
    if lines:
        yield _Piece(path, tuple(lines))


def _keep(run: Sequence[_Piece], last: int) -> Iterator[str]:
    """The lines of one traceback's frames: those of the program, the first of the compiler after
    each, and the last ones.
    """
    run = [piece for piece in run if piece.path not in _RUNNERS]
    own = [piece.path in _PROGRAM for piece in run]
    missing = 0
    for index, piece in enumerate(run):
        entered = index > 0 and own[index - 1] and not own[index]
        if own[index] or entered or index >= len(run) - last:
            yield from _write_frames_gap(missing)
            missing = 0
            yield from (line for line in piece.lines if not _CARETS.fullmatch(line))
        else:
            missing += 1
    yield from _write_frames_gap(missing)


def _write_frames_gap(missing: int) -> Iterator[str]:
    if missing:
        yield f"  [... {pluralize(missing, 'frame')} left out ...]"


def _shorten(lines: tuple[str, ...]) -> Iterator[str]:
    if len(lines) <= _MESSAGE_LINES:
        yield from lines
        return
    head = _MESSAGE_LINES // 2
    yield from lines[:head]
    yield f"[... {pluralize(len(lines) - _MESSAGE_LINES, 'line')} left out ...]"
    yield from lines[len(lines) - (_MESSAGE_LINES - head) :]
