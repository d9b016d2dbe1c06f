"""Our reducer and torch's minifier on the same generated programs, in one run.

    python bench/reduce.py [--sizes 10,50] [--kinds KIND,…] [--modes MODE,…] [--limit SECONDS]
    [--python PYTHON]

The programs are those of programs.py. Each contender gets a fresh folder and an empty compiler
cache, starts from the script, and is judged by the file it leaves: copied alone into an empty
folder and run in a fresh process with an empty cache and without saved inputs, does it still show
the failure that the script showed? What Inductor keeps outside of that cache, headers that it
compiles once for a machine, all runs share; the first of them, a script's, has to make it.

ours        `create` of this checkout. `first` is the script's run and the diagnosis, `reduce` is
from the first
            candidate to the smallest; verification in fresh processes, settings and culprit, which
            the minifier does not look for, are in `total` only; torch's debugging tools are not run
            (--evidence 0). Where report.json lacks these times, the total stands for both.
minifier    after dynamo, after aot, and after aot with --no-isolate, as documented. `first` is the
run of the script
            that dumps the launcher, `reduce` is the launcher. Level 2 sees crashes only and level 4
            wrong values only, so each program has one level; the other would never find a thing.

`alone` is "inputs" where the file works only next to the inputs that the minifier saved; that
counts as a success. `--limit` holds for each run of a process; ours does in one what the minifier
does in two, so it gets twice as much. `statements` are tensor operations in the result, `lines` are
the lines of its file that are not blank. `cpu` are the seconds of all cores, which say more than
wall time where others use the machine too. `MiB` is the peak of all processes together, shared
pages counted once.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support.processes import Ran, run
from support.programs import BUGS, Bug, write_program
from support.sizes import count_lines, count_statements

ROOT = Path(__file__).resolve().parents[1]
OURS, SCRIPT = "ours", "the script"
MODES = ("dynamo", "aot", "aot-no-isolate")
WIDTHS = (19, 17, 7, 8, 8, 7, 6, 6, 6, 7, 6)
HEADER = "program contender first reduce total cpu cand. stmts lines alone MiB".split()


@dataclass(frozen=True)
class Task:
    """One program, and how contenders are to be run on it; `headers` is a folder that all runs
    share.
    """

    kind: str
    size: int
    python: Path
    limit: float
    headers: Path

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.size}"

    @property
    def bug(self) -> Bug:
        return BUGS[self.kind]


@dataclass(frozen=True)
class Row:
    """What one contender made of one program in its runs; None is what there is not."""

    program: str
    contender: str
    runs: tuple[Ran, ...]
    first: float | None = None
    reduce: float | None = None
    candidates: int | None = None
    statements: int | None = None
    lines: int | None = None
    alone: str = "-"
    note: str = ""

    @property
    def total(self) -> float:
        return sum(run.seconds for run in self.runs)

    @property
    def late(self) -> bool:
        """Whether a run was ended at its limit."""
        return any(run.code is None for run in self.runs)

    @property
    def succeeded(self) -> bool:
        return self.alone in ("yes", "inputs") and not self.late

    def __str__(self) -> str:
        late = f">{self.runs[-1].limit:.0f}" if self.late else ""
        cells = [self.program, self.contender, _render_seconds(self.first)]
        cells += [late or _render_seconds(self.reduce), _render_seconds(self.total)]
        cells += [_render_seconds(sum(run.cpu for run in self.runs))]
        cells += [_render_count(value) for value in (self.candidates, self.statements, self.lines)]
        cells += [self.alone, _render_count(max(run.memory for run in self.runs))]
        return f"{_align(cells)}  {self.note}".rstrip()


def main() -> int:
    """Measure, a row at a time, and sum up."""
    options = _parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what runs is ended and cleared away
    print(_align(HEADER), flush=True)
    rows = []
    with tempfile.TemporaryDirectory(prefix="reduce-") as name:
        for row in _measure_all(options, Path(name)):
            print(row, flush=True)
            rows.append(row)
    print("\n" + "\n".join(summarize(rows)), flush=True)
    if not options.only_ours:
        print("\ncandidates per second, by bench/workers.py:", flush=True)
        rates = [
            sys.executable,
            str(ROOT / "bench" / "workers.py"),
            "--python",
            str(options.python),
        ]
        subprocess.run(rates, check=True)
    return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=_parse_sizes, default=[10, 50])
    parser.add_argument(
        "--kinds", type=_make_name_parser(BUGS), default=["compile_error", "wrong_result"]
    )
    parser.add_argument("--modes", type=_make_name_parser(MODES), default=list(MODES))
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--only-ours", action="store_true")
    return parser.parse_args()


def _measure_all(options: argparse.Namespace, folder: Path) -> Iterator[Row]:
    """Every row, as it is measured."""
    modes = () if options.only_ours else options.modes
    (headers := folder / "headers").mkdir()
    for kind in options.kinds:
        for size in options.sizes:
            task = Task(kind, size, options.python.absolute(), options.limit, headers)
            yield from _measure_task(task, modes, folder / task.name)
            shutil.rmtree(folder / task.name)


def _measure_task(task: Task, modes: Iterable[str], folder: Path) -> Iterator[Row]:
    """The script itself, ours, and each mode of the minifier; nothing else if the script shows no
    bug.
    """
    folder.mkdir()
    script = folder / "script.py"
    script.write_text(write_program(task.kind, task.size))
    yield (row := _run_itself(task, script, folder / "itself"))
    if row.alone == "yes":
        yield run_ours(task, script, folder / "ours")
        for mode in modes:
            yield run_minifier(task, mode, script, folder / mode)


def _run_itself(task: Task, script: Path, folder: Path) -> Row:
    """The script without any tool: how long it takes to fail."""
    ran = run([task.python, script], folder, task.limit, _build_variables(task, folder))
    # A script compares with torch.testing, which says it in its own words.
    shown = _shows(ran, "not close" if task.bug.accuracy else task.bug.message)
    return Row(task.name, SCRIPT, (ran,), lines=count_lines(script), alone="yes" if shown else "no")


def run_ours(task: Task, script: Path, folder: Path) -> Row:
    """`create`, and the repro that it writes."""
    command = [sys.executable, "-m", "reporter", "create", "--no-input", "--json"]
    command += ["--evidence", "0", "--timeout", str(task.limit)]
    command += ["--python", str(task.python), "-o", str(folder / "report"), str(script)]
    ran = run(command, ROOT, 2 * task.limit, _build_variables(task, folder))
    document = _parse_document(ran.stdout)
    repro = document.get("repro") or {}
    path = folder / "report" / "repro.py"
    parts = document.get("timing") or {}
    alone = path.exists() and _fails_alone(task, path, folder / "alone", task.bug.message, 1)
    return Row(
        task.name,
        OURS,
        (ran,),
        _sum_wall(parts, "record", "diagnose", "capture") or None,
        _sum_wall(parts, "rewrite", "reduce") or ran.seconds,
        repro.get("candidates"),
        repro.get("statements"),
        count_lines(path),
        "yes" if alone else "no",
        "" if repro or ran.code is None else _describe_ending(document, ran),
    )


def _sum_wall(stages: dict[str, dict[str, float]], *names: str) -> float:
    """Wall seconds of stages of report.json."""
    return sum(stages[name]["wall"] for name in names if name in stages)


def run_minifier(task: Task, mode: str, script: Path, folder: Path) -> Row:
    """Dump the launcher, run it, and try the repro that it leaves in the working directory."""
    after, _, flag = mode.partition("-")
    level = "4" if task.bug.accuracy else "2"
    work = folder / "work"
    debug = _build_variables(task, work) | {"TORCH_COMPILE_DEBUG_DIR": str(work / "debug")}
    dumping = {"TORCHDYNAMO_REPRO_AFTER": after, "TORCHDYNAMO_REPRO_LEVEL": level}
    dump = run([task.python, script], work / "dump", task.limit, debug | dumping)
    row = Row(task.name, f"{mode} {level}", (dump,), dump.seconds)
    launchers = sorted((work / "debug").rglob("minifier_launcher.py"))
    if not launchers or row.late:
        return replace(row, note="no launcher written")
    command = [task.python, launchers[-1], *(("minify", f"--{flag}") if flag else ())]
    launch = run(command, work / "launch", task.limit, debug)
    repro = work / "launch" / "repro.py"
    row = replace(
        row,
        runs=(dump, launch),
        reduce=launch.seconds,
        candidates=_count_queries(launch, work / "launch" / "isolate"),
        lines=count_lines(repro),
    )
    if not repro.exists():
        return replace(row, note=f"no repro written, exit {launch.code}")
    alone = "-" if row.late else _try_minified(task, repro, folder)
    return replace(row, statements=count_statements(repro.read_text()), alone=alone)


def _try_minified(task: Task, repro: Path, folder: Path) -> str:
    """Whether the minifier's file shows the failure: alone, only next to its saved inputs, or not
    at all.
    """
    said = "AccuracyError" if task.bug.accuracy else task.bug.message
    # Its paths are absolute: only what is moved away is hidden from it.
    work, hidden = folder / "work", folder / "hidden"
    work.rename(hidden)
    try:
        alone = _fails_alone(task, hidden / "launch" / "repro.py", folder / "alone", said)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        hidden.rename(work)
    if alone:
        return "yes"
    return "inputs" if _fails_alone(task, repro, folder / "beside", said) else "no"


def _fails_alone(task: Task, repro: Path, folder: Path, said: str, code: int | None = None) -> bool:
    """Run a copy in an empty folder; `code` is the exit code that it must end with, any but 0 by
    default.
    """
    folder.mkdir()
    copy = shutil.copy(repro, folder / "repro.py")
    ran = run([task.python, copy], folder, task.limit, _build_variables(task, folder))
    return _shows(ran, said) and code in (None, ran.code)


def _shows(ran: Ran, said: str) -> bool:
    """Failed, and in these words; compilers quote in the fashion of the locale."""
    output = ran.output.replace("\N{LEFT SINGLE QUOTATION MARK}", "'")
    return bool(ran.code) and said in output.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")


def _build_variables(task: Task, folder: Path) -> dict[str, str]:
    """The environment of a run: nobody's settings, its own cache, its own temporary files, `python`
    first in PATH.
    """
    private = ("TORCH", "TRITON", "BUGREPORT_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(private)}
    user = folder / "tmp" / f"torchinductor_{getpass.getuser()}"
    for path in (folder / "cache", user):
        path.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        (user / "precompiled_headers").symlink_to(task.headers)
    kept["PATH"] = os.pathsep.join([str(task.python.parent), kept.get("PATH", os.defpath)])
    return kept | {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "TMPDIR": str(folder / "tmp")}


def _parse_document(stdout: str) -> dict[str, Any]:
    try:
        document = json.loads(stdout)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _describe_ending(document: dict[str, Any], ran: Ran) -> str:
    """Why there is no repro, in a few words."""
    verdict = (document.get("verdict") or {}).get("kind", "no verdict")
    error = (document.get("error") or {}).get("message", "")
    return f"{verdict}, no repro, exit {ran.code} {error[:80]}".rstrip()


def _count_queries(launched: Ran, isolated: Path) -> int | None:
    """Evaluations by the minifier's own count, or by the files of its child processes where it was
    cut short.
    """
    if said := re.findall(r"Made (\d+) queries", launched.output):
        return int(said[-1])
    return len(list(isolated.glob("*.py"))) or None


def summarize(rows: list[Row]) -> list[str]:
    """The comparison per program, then our seconds per kind."""
    found = ["fastest minifier mode that succeeded, over ours:"]
    mine = {row.program: row for row in rows if row.contender == OURS}
    for name, row in mine.items():
        others = [other for other in rows if other.program == name and other is not row]
        modes = [other for other in others if other.contender != SCRIPT]
        found.append(f"  {name:19} {_compare(row, modes)}")
    found.append("ours, total seconds by operators:")
    for kind in dict.fromkeys(name.rpartition("_")[0] for name in mine):
        sizes = [row for name, row in mine.items() if name.rpartition("_")[0] == kind]
        found.append(f"  {kind:19} {', '.join(_summarize_row(row) for row in sizes)}")
    return found


def _compare(mine: Row, modes: list[Row]) -> str:
    """How many times as long the best mode took, and whether ours is as small."""
    succeeded = [row for row in modes if row.succeeded]
    if not mine.succeeded:
        return f"ours failed; {len(succeeded)} of {len(modes)} minifier modes succeeded"
    if not succeeded:
        return f"none of {len(modes)} minifier modes succeeded"
    parts = []
    for what, seconds in (("reduce", _read_reduce_seconds), ("total", _read_total_seconds)):
        best = min(succeeded, key=seconds)
        parts.append(f"{what} {seconds(best) / seconds(mine):.2f}x ({best.contender})")
    smallest = min(row.statements or 0 for row in succeeded)
    fewer = "no more" if (mine.statements or 0) <= smallest else "MORE"
    return ", ".join([*parts, f"{fewer} statements ({mine.statements} and {smallest})"])


def _read_reduce_seconds(row: Row) -> float:
    return row.reduce or row.total


def _read_total_seconds(row: Row) -> float:
    return row.total


def _summarize_row(row: Row) -> str:
    """`200: 93.1 s`, with what kept it from being a success."""
    size = row.program.rpartition("_")[2]
    failed = " (ended)" if row.late else "" if row.succeeded else " (no repro)"
    return f"{size}: {row.total:.1f} s{failed}"


def _render_seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _render_count(value: int | None) -> str:
    return "-" if value is None else str(value)


def _align(cells: Iterable[str]) -> str:
    """Names to the left, numbers to the right."""
    return " ".join(
        f"{cell:<{width}}" if place < 2 else f"{cell:>{width}}"
        for place, (cell, width) in enumerate(zip(cells, WIDTHS))
    )


def _parse_sizes(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _make_name_parser(allowed: Iterable[str]) -> Callable[[str], list[str]]:
    def parse_names(text: str) -> list[str]:
        if unknown := set(text.split(",")) - set(allowed):
            raise argparse.ArgumentTypeError(
                f"{', '.join(unknown)}: not one of {', '.join(allowed)}"
            )
        return text.split(",")

    return parse_names


if __name__ == "__main__":
    sys.exit(main())
