"""What the tool says of programs that strangers posted, beside what is true of them.

    python bench/strangers.py PYTHON RELEASE [--open | --held-back] [--create] [NUMBER …]

Each program of `bench/strangers` with a truth for RELEASE is diagnosed under PYTHON in the sandbox,
a minute or two each; `--create` reduces the bugs, too. A row has the issue, what is true, what was
said, the lines of the program and of the repro, and the wall seconds. Last come the counts: real
bugs that were dismissed, and what is no bug but was called one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reporter.execution.interpreter import InterpreterInfo, probe
from reporter.triage.attempt import RunLimits
from reporter.triage.sandboxed_verdict import CommandVerdict, judge

HOME = Path(__file__).parent / "strangers"
#: Of one run of the tool: seconds and GiB for each process.
LIMITS = RunLimits(timeout=120.0, memory=4, jobs=2)


@dataclass(frozen=True)
class Row:
    """One program: its number, what is true, what was said, and what the repro came to.

    `kinds` and `layers` are all that count as right; `lines` are those of the program and of the
    repro (0: none).
    """

    number: int
    is_bug: bool
    kinds: tuple[str, ...]
    layers: tuple[str, ...]
    said: CommandVerdict
    lines: tuple[int, int]

    @property
    def mistake(self) -> str:
        """What is wrong with the verdict; empty if nothing is."""
        if self.said.kind is None:
            return "no answer"
        if self.said.is_bug != self.is_bug:
            return "dismissed" if self.is_bug else "called a bug"
        if not self.is_bug:
            return ""
        if self.said.kind not in self.kinds:
            return "kind"
        return "" if self.said.layer in self.layers or not self.layers else "layer"

    def render(self) -> str:
        said = f"{self.said.kind or self.said.trouble} {self.said.layer}"
        true = f"{'/'.join(self.kinds)} {'/'.join(self.layers) if self.is_bug else '-'}"
        sizes = f"{self.lines[0]:3} -> {self.lines[1] or '-'}"
        return (
            f"{self.number:7}  {true:44.44}  {said:32.32}"
            f"  {self.mistake:13}  {sizes:10}  {self.said.seconds:5.0f} s"
        )


def run(folder: Path, truth: Mapping[str, Any], python: InterpreterInfo, create: bool) -> Row:
    """Runs the tool on one program, all of it in the sandbox."""
    program = (folder / "program.py").read_text(encoding="utf-8")
    goes_on = create and truth["is_bug"]
    said = judge("create" if goes_on else "diagnose", python, program, LIMITS)
    return Row(
        int(folder.name),
        bool(truth["is_bug"]),
        tuple(dict.fromkeys((truth["kind"], *truth.get("also", ())))),
        tuple(truth.get("layers", ())),
        said,
        (_count_lines(program), _count_lines(said.repro.text)),
    )


def _count_lines(text: str) -> int:
    return len([line for line in text.splitlines() if line.strip()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("release")
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--held-back", action="store_true")
    parser.add_argument("--create", action="store_true")
    given = parser.parse_args()
    python = probe(Path(given.python).absolute())
    rows = []
    for folder in sorted(HOME.iterdir(), key=lambda folder: folder.name.zfill(9)):
        if not folder.name.isdigit():
            continue
        number = int(folder.name)
        known = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
        is_open = number % 3 == 0 or known.get("seen", False)
        if given.numbers and number not in given.numbers:
            continue
        if given.open and not is_open or given.held_back and is_open:
            continue
        truths = known["truth"]
        if given.release in truths:
            rows.append(run(folder, truths[given.release], python, given.create))
            print(rows[-1].render(), flush=True)
    bugs = [row for row in rows if row.is_bug]
    dismissed = [row for row in bugs if row.mistake in ("dismissed", "no answer")]
    accused = [row for row in rows if row.mistake == "called a bug"]
    right = [row for row in bugs if not row.mistake]
    print(f"real bugs: {len(bugs)}, dismissed: {len(dismissed)}, kind and layer: {len(right)}")
    print(f"no bugs: {len(rows) - len(bugs)}, called one: {len(accused)}")
    if given.create:
        shown = [row for row in bugs if row.lines[1]]
        longer = [row for row in shown if row.lines[1] > row.lines[0]]
        print(f"verified repros: {len(shown)} of {len(bugs)}, longer than posted: {len(longer)}")


if __name__ == "__main__":
    main()
