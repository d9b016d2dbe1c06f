"""The tool's own judgment of a stranger's program: the whole tool runs inside the sandbox, and a
document comes out.

Only what is expected of that document is read, each value with its type checked and its text
cleaned: the program that was judged ran beside the judge and may have written anything.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeGuard

from reporter.core.json_values import Json
from reporter.core.kinds import BUGS, CUSTOM, Kind, Layer, RungOutcome
from reporter.core.program_account import ProgramAccount
from reporter.diagnose.rungs import RUNGS, RUNGS_OF
from reporter.execution.compiler_cache import IN_PROGRESS, name_warm_folder
from reporter.execution.interpreter import InterpreterInfo
from reporter.report.folder import REPRO
from reporter.sandbox import Limits, SandboxResult, make_sandbox
from reporter.sandbox.limits import GIB, MIB
from reporter.tracker.plain_text import clean_line, clean_text
from reporter.triage.attempt import SEED, RunLimits
from reporter.triage.sentences import Errors, describe

#: The line of the document begins with it (`sandbox_run`).
MARK = "bugreport-triage:"
_NAME = re.compile(r"[A-Za-z_][\w.]*")
#: The variations that the tool itself makes; others would be words of the run's.
_RUNG_NAMES = frozenset({*RUNGS, CUSTOM, *(name for names in RUNGS_OF.values() for name in names)})
#: How many times the limit of one run the whole command may take.
_SHARES = {"diagnose": 3, "create": 8}
#: Bytes of a reduced program that a comment has room for.
_LONGEST_REPRO = 20_000
#: The outcomes of rungs that say something.
_OUTCOMES = frozenset(RungOutcome) - {RungOutcome.ERROR, RungOutcome.BROKEN}


@dataclass(frozen=True)
class CommandMeasurements:
    """The rungs that say something, the numbers of the one that is farthest off, and how the
    program ended.
    """

    ladder: tuple[tuple[str, RungOutcome], ...] = ()
    errors: Errors = Errors()
    account: ProgramAccount = ProgramAccount()


@dataclass(frozen=True)
class FailureMarks:
    """What a tracker knows the failure by; `exception` is its class, `message` its first line."""

    signature: str = ""
    fingerprint: Mapping[str, Any] | None = None
    exception: str = ""
    message: str = ""
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class CommandRepro:
    """The reduced program; its `text` is empty where there is none."""

    text: str = ""
    operators: tuple[str, ...] = ()
    statements: int = 0


@dataclass(frozen=True)
class CommandVerdict:
    """What `diagnose` or `create` said; without a verdict `kind` is None, and `trouble` says why.

    `seconds` is the wall time of the command.
    """

    kind: Kind | None = None
    layer: Layer = Layer.NONE
    measured: CommandMeasurements = CommandMeasurements()
    marks: FailureMarks = FailureMarks()
    repro: CommandRepro = CommandRepro()
    trouble: str = ""
    seconds: float = 0.0

    @property
    def is_bug(self) -> bool:
        """Whether the kind is one of the compiler's faults."""
        return self.kind in BUGS

    @property
    def summary(self) -> str:
        """The verdict as a sentence of ours, with its numbers: no word of the run's."""
        measured = self.measured
        return describe(self.kind, self.layer, measured.errors, measured.account.calls)

    def to_json(self) -> Json:
        """The entry of the document."""
        return {
            "kind": self.kind.value if self.kind else "",
            "layer": self.layer.value,
            "is_bug": self.is_bug,
            "summary": self.summary,
            "ladder": [
                {"rung": rung, "outcome": outcome.value} for rung, outcome in self.measured.ladder
            ],
            "exception": self.marks.exception,
            "message": self.marks.message,
            "trouble": self.trouble,
            "seconds": self.seconds,
        }


def judge(
    verb: Literal["diagnose", "create"], info: InterpreterInfo, text: str, limits: RunLimits
) -> CommandVerdict:
    """Runs `diagnose` or `create` on a program in the sandbox.

    Args:
        verb: which of the two.
        info: the interpreter that it is judged in.
        text: the program, as it was posted.
        limits: of each run in it; the command as a whole gets a multiple of these seconds, and of
            memory as much for each job and some for the tool.

    Returns:
        The verdict, or why there is none; `seconds` of the command as a whole.

    Raises:
        CannotJudgeError: there is no sandbox.
    """
    warm = _find_warm_folder(info.path)
    jobs, timeout, memory = limits.jobs, limits.timeout, limits.memory
    arguments = [verb, str(info.path), str(jobs), f"{timeout:g}", f"{memory:g}"]
    with make_sandbox(
        [sys.executable, str(Path(__file__).resolve().with_name("sandbox_main.py")), *arguments],
        python=info.path,
        files={"repro.py": text},
        limits=Limits(
            seconds=_SHARES[verb] * timeout,
            memory=int((jobs + 1) * memory + 6) * GIB,
            disk=6 * GIB,
            output=16 * MIB,
        ),
        folders={SEED: warm} if warm is not None and not limits.trust else {},
        with_tool=True,
        trust=limits.trust,
    ) as sandbox:
        result = sandbox.run()
    return replace(_read_result(result, verb), seconds=result.seconds)


def _read_result(result: SandboxResult, verb: str) -> CommandVerdict:
    """What came out of the sandbox."""
    if result.detail:
        return CommandVerdict(trouble=f"the {verb} run {result.detail}")
    lines = [line for line in result.stdout.split("\n") if line.startswith(MARK)]
    if len(lines) > 1:
        trouble = f"the {verb} run gave {len(lines)} answers, where the tool gives one"
        return CommandVerdict(trouble=trouble)
    if not lines or result.exit != 0:
        said = clean_text(result.stderr).strip().splitlines()
        return CommandVerdict(
            trouble=(
                f"the {verb} run ended without an answer"
                f" ({clean_line(said[-1]) if said else 'no output'})"
            )
        )
    try:
        answer = json.loads(lines[0][len(MARK) :])
    except (ValueError, RecursionError):
        return CommandVerdict(trouble=f"the answer of the {verb} run cannot be read")
    return read(answer)


def read(answer: object) -> CommandVerdict:
    """The answer of a run with all that is not expected left out."""
    found = answer if isinstance(answer, Mapping) else {}
    if "error" in found:
        return CommandVerdict(trouble=_read_line(found["error"], 400))
    document = _as_mapping(found.get("document"))
    verdict = _as_mapping(document.get("verdict"))
    try:
        kind, layer = Kind(verdict.get("kind")), Layer(verdict.get("layer"))
    except ValueError:
        return CommandVerdict(trouble="the verdict of the run is none that the tool gives")
    account = _read_account(_as_mapping(found.get("account")))
    return CommandVerdict(
        kind,
        layer,
        measured=_read_measurements(document, account),
        marks=_read_marks(document, verdict),
        repro=_read_repro(_as_mapping(document.get("repro")), _as_mapping(found.get("files"))),
    )


def _read_measurements(
    document: Mapping[str, object], account: ProgramAccount
) -> CommandMeasurements:
    rows = [_as_mapping(row) for row in _as_list(document.get("ladder"))]
    names = [_read_line(row.get("rung"), 60) for row in rows]
    ladder = tuple(
        (name, RungOutcome(row["outcome"]))
        for name, row in zip(names[:60], rows)
        if name in _RUNG_NAMES and str(row.get("outcome")) in _OUTCOMES
    )
    return CommandMeasurements(ladder, _read_errors(rows), account)


def _read_marks(document: Mapping[str, object], verdict: Mapping[str, object]) -> FailureMarks:
    return FailureMarks(
        signature=_read_line(verdict.get("signature"), 500),
        fingerprint=_as_mapping(document.get("fingerprint")) or None,
        exception=str(verdict["exception"]) if _is_name(verdict.get("exception"), 100) else "",
        message=_read_line(verdict.get("message") or "", 300),
        labels=tuple(_read_line(label, 60) for label in _as_list(document.get("labels"))[:10]),
    )


def _read_repro(repro: Mapping[str, object], files: Mapping[str, object]) -> CommandRepro:
    text = clean_text(str(files.get(REPRO, ""))) if repro else ""
    return CommandRepro(
        text if len(text.encode()) <= _LONGEST_REPRO else "",  # a part of it is another program
        tuple(name for name in _as_list(repro.get("operators"))[:20] if _is_name(name, 80)),
        _read_count(repro.get("statements")),
    )


def _read_account(found: Mapping[str, Any]) -> ProgramAccount:
    exception = found.get("exception")
    return ProgramAccount(
        exit=_read_exit_code(found.get("exit")),
        said=_read_exit_code(found.get("said")),
        exception=exception if _is_name(exception, 100) else "",
        calls=_read_count(found.get("calls")),
        compared=_read_count(found.get("compared")),
        reached=tuple(_read_line(what, 80) for what in _as_list(found.get("reached"))[:10]),
    )


def _read_errors(ladder: list[Mapping[str, Any]]) -> Errors:
    """The numbers of the rung that is farthest off."""
    rows = [
        Errors(
            _read_number(row.get("max_abs_error")),
            _read_number(row.get("error_vs_fp64")),
            _read_number(row.get("eager_error_vs_fp64")),
        )
        for row in ladder[:60]
    ]
    return max(rows, key=lambda row: row.largest or 0.0, default=Errors())


def _read_number(value: object) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return number if math.isfinite(number) else None


def _read_exit_code(value: object) -> int | None:
    is_code = isinstance(value, int) and not isinstance(value, bool) and -128 <= value <= 255
    return value if is_code else None  # type: ignore[return-value]


def _is_name(value: object, longest: int) -> TypeGuard[str]:
    """Whether a text is a name of a program, in which nothing can be said."""
    return isinstance(value, str) and len(value) <= longest and _NAME.fullmatch(value) is not None


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _read_line(value: object, limit: int) -> str:
    return clean_line(value, limit) if isinstance(value, str) else ""


def _read_count(value: object) -> int:
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**6
        else 0
    )


def _find_warm_folder(python: Path) -> Path | None:
    """What earlier runs of the tool found out about the compilers for this interpreter, if there
    were any.
    """
    folder = name_warm_folder(python)
    complete = folder.is_dir() and not (folder / IN_PROGRESS).exists()
    return folder if complete and any(folder.iterdir()) else None
