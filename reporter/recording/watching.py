"""What is watched, and how closely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from collectors.protocol.starting import ProgramStart
from reporter.recording.operators import OperatorWatch

#: What the user is told of a program that no fork can stand in for, by what a fork lacks.
RERUN_NOTES: Mapping[str, str] = {
    "CUDA": (
        "the script computes on CUDA, which no fork of it could: it is run again for each"
        " question"
    ),
    "autograd": (
        "autograd has made threads for the devices of this machine, and refuses to work in forks:"
        " the script is run again for each question"
    ),
}


@dataclass(frozen=True)
class WatchedProgram:
    """The program to be watched: the interpreter, the words after it, and where it runs.

    `cache` is the compiler cache of the run. `entry` says how the target starts the command (see
    `reporter.recording.entry_points.build_program_start`); by default it is a script.
    """

    python: Path
    command: tuple[str, ...]
    cwd: Path
    cache: Path
    entry: ProgramStart = field(default_factory=lambda: ProgramStart(kind="script"))
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WatchOptions:
    """How closely a program is watched.

    `timeout` is the script's own limit in seconds, from its start or its last sign of life: a call
    of something compiled, or a word. `longest` is for the whole script. With `guarded` the program
    is a stranger's, and what it reaches for is noted. `every_call` compares all calls, else the
    first ones of each callable and then ever fewer. With `reruns` above 0 so many runs of the
    program at a time may answer what no fork of it can; with `isolation` "rerun" nothing is forked.
    With `operators` the calls of torch's own functions are looked at, too. `child` is the number of
    the process that is watched in place of the program that starts it. `backend` is what everything
    is compiled with, in place of what the program says. `without_added_outputs` takes away what
    decomposing adds to the outputs of exported programs.
    """

    timeout: float
    every_call: bool = False
    reruns: int = 0
    isolation: Literal["fork", "rerun"] = "fork"
    operators: OperatorWatch | None = None
    child: int | None = None
    backend: str | None = None
    without_added_outputs: bool = False
    longest: float | None = None
    guarded: bool = False
