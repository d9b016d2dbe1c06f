"""The end of a `create`, told on one screen: verdict, ladder, repro, where it comes from, files,
and what to do next.

Once as plain lines, for logs and pipes, and once as tables for a terminal; both say the same.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reporter.core.kinds import RungOutcome
from reporter.report.folder import ISSUE, PAGE, PRIVATE, REPORT, REPRO, TEST
from reporter.report.sections.report_document import Report
from templates import tables
from templates.description import describe_difference
from templates.facts import name_unit
from templates.text import pluralize

if TYPE_CHECKING:
    from rich.table import Table

#: Of the outcomes in `tables.build_grid`; others tell of a failure.
_STYLES: Mapping[str, str] = {
    RungOutcome.OK: "green",
    RungOutcome.SKIPPED: "dim",
    tables.NO_END: "dim",
    tables.NOT_RUN: "dim",
}
_FILES = {
    ISSUE: "the issue as it would be filed",
    REPRO: "exit 0: the bug is gone",
    TEST: "the same as a regression test",
    PAGE: "the pictures",
    REPORT: "all the numbers",
    f"{PRIVATE}/": "stays here: mapping, log, recording",
}


@dataclass(frozen=True)
class Summary:
    """A finished report and what its reader needs to go on: the folder, the interpreter, the
    project it is for.
    """

    report: Report
    output: Path
    python: str
    repository: str
    culprit: str = ""
    workaround: str = ""

    def render_lines(self) -> list[str]:
        """For a log, a pipe or a CI job."""
        report = self.report
        seen, of = report.verdict.reproduced
        return [
            f"verdict: {report.verdict.kind} in {report.verdict.layer} ({self._name_issue()})",
            report.verdict.summary,
            f"repro: {self._describe_size()}, seen in {seen} of {of} fresh processes,"
            f" {self._describe_effort()}",
            *(f"culprit: {text}" for text in [self.culprit] if text),
            *(f"workaround: {text}" for text in [self._drop_backquotes(self.workaround)] if text),
            *self._describe_difference(),
            *self._list_needs(),
            *self._list_others(),
            *self._describe_numbers(),
            (
                f"leak check: passed, {report.audit.terms_checked if report.audit else 0} private"
                " terms looked for"
            ),
            f"report: {self.output}",
            *(f"next: {command}" for command in self._list_commands()),
        ]

    def _name_issue(self) -> str:
        return "bug" if self.report.verdict.is_bug else "feature request"

    def _list_commands(self) -> list[str]:
        """What to run next, to be pasted as it is."""
        folder = shlex.quote(self._shorten_path(self.output))
        repro = shlex.quote(self._shorten_path(self.output / REPRO))
        return [
            f"{shlex.quote(self.python)} {repro}",
            f"bugreport file {folder} -R {self.repository}",
            f"bugreport check {folder}",
        ]

    def build_tables(self) -> Iterator[Table]:
        """For a terminal."""
        from rich.table import Table

        def make_table(*columns: str) -> Table:
            made = Table(box=None, show_header=any(columns), pad_edge=False, padding=(0, 2, 0, 0))
            for column in columns:
                made.add_column(column, header_style="dim", overflow="fold")
            return made

        from rich.text import Text

        facts = make_table("", "")
        for name, value, style in self._list_facts():
            facts.add_row(Text(name, style="dim"), Text(value, style=style))
        yield facts
        ladder = make_table("variant", *tables.list_columns(self.report.to_json()))
        for name, cells in tables.build_grid(self.report.to_json()):
            styled = [Text(each.text, _STYLES.get(each.outcome, "red")) for each in cells]
            ladder.add_row(Text(tables.write_variant(name)), *styled)
        yield ladder
        files = make_table("", "")
        for name, what in _FILES.items():
            files.add_row(Text(name), Text(what, style="dim"))
        yield files
        following = make_table("")
        for command in self._list_commands():
            following.add_row(Text(command, style="bold"))
        yield following

    def _list_facts(self) -> Iterator[tuple[str, str, str]]:
        report = self.report
        seen, of = report.verdict.reproduced
        yield "verdict", f"{report.verdict.kind} in {report.verdict.layer}", "bold red"
        yield "", report.verdict.summary, ""
        yield "repro", f"{self._describe_size()}, seen in {seen} of {of} fresh processes", "bold"
        yield "", self._describe_effort(), "dim"
        if self.culprit:
            yield "culprit", self.culprit, ""
        if self.workaround:
            yield "workaround", self._drop_backquotes(self.workaround), ""
        for line in (
            *self._describe_difference(),
            *self._list_needs(),
            *self._list_others(),
            *self._describe_numbers(),
        ):
            name, _, rest = line.partition(": ")
            yield name, rest, ""
        checked = report.audit.terms_checked if report.audit else 0
        yield "leak check", f"passed, {checked} private terms looked for", "green"
        yield "report", self._shorten_path(self.output), ""

    def _describe_size(self) -> str:
        repro = self.report.repro
        assert repro is not None
        unit = name_unit(self.report.to_json())
        return f"{pluralize(repro.statements, unit)}, {pluralize(repro.lines, 'line')}"

    def _describe_effort(self) -> str:
        repro = self.report.repro
        assert repro is not None
        return f"{pluralize(repro.candidates, 'candidate')}, {repro.seconds:.0f} s"

    def _describe_difference(self) -> list[str]:
        """The line about other releases that are right."""
        if not self.report.differs_from:
            return []
        word, sentence = describe_difference(self.report.to_json())
        return [f"{word.lower()}: {sentence}"]

    def _describe_numbers(self) -> list[str]:
        """The line about sizes and numbers of the private model that are still in the repro."""
        left = (*(self.report.sizes_left or ()), *(self.report.numbers_left or ()))
        return (
            [f"numbers of yours that the failure needs: {', '.join(map(str, left))}"]
            if left
            else []
        )

    def _list_others(self) -> list[str]:
        return [
            f"met on the way, another failure ({other.kind}): {self.output / other.path}"
            for other in self.report.other_findings
        ]

    def _list_needs(self) -> list[str]:
        """What the model has beside stock layers, where the whole model was rewritten."""
        proof = self.report.equivalence
        if proof is None:
            return []
        same = "the same" if proof.operators.same else "not all the same"
        lines = [
            f"equivalent: outputs {proof.outputs.how}, gradients {proof.gradients.how},"
            f" {proof.operators.count} operators {same}"
        ]
        if proof.batch and proof.batch.is_same:
            lines.append(f"with a batch of {proof.batch.size}: outputs {proof.batch.how}")
        elif proof.batch:
            other = "raises" if proof.batch.how == "raises" else "gives other outputs"
            lines.append(
                f"with a batch of {proof.batch.size}, which your model accepts, the rewritten one"
                f" {other}"
            )
        opaque = sorted(set((proof.stand_ins or {}).values()))
        if opaque:
            lines.append(
                f"replaced by stand-ins: {', '.join(opaque)} (the rest is proved with the private"
                " one in its place)"
            )
        if proof.rewritten_from == "source":
            lines.append(
                "written as your code is, under generic names: its operations alone do not fail, or"
                " cannot be told"
            )
        found = self.report.differs_from_stock
        if found is None:
            return lines
        needed = "; ".join(found.needs)
        if needed:
            needed += f" (without it the model {found.skeleton})"
        else:
            needed = "nothing, what stock layers do is enough to fail"
        return [*lines, f"needed beside stock layers: {needed}"]

    @staticmethod
    def _drop_backquotes(text: Any) -> str:
        return str(text).replace("`", "")

    @staticmethod
    def _shorten_path(path: Path) -> str:
        """Relative to the working folder where it lies in there."""
        relative = os.path.relpath(path)
        return str(path) if relative.startswith("..") else relative
