"""Other failures met on the way: each kept with its smallest candidate, shown again in a fresh
process, never swapped in.

A reduction tries hundreds of programs, and some of them fail in a way of their own. That is news
for the same maintainers, but it is another bug: it must not take the place of the one that was
asked about.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass

from anonymizer.source.program import is_simple
from reporter.core.answer import Answer
from reporter.core.candidate import find_failure
from reporter.core.errors import CannotJudgeError
from reporter.core.formatting import count_lines
from reporter.core.json_values import Json
from reporter.core.kinds import Kind, Layer
from reporter.core.signature import Signature, is_same_failure
from reporter.diagnose.eager_faults import is_internal
from reporter.diagnose.unsupported_features import REFUSALS
from reporter.execution.fresh_runs import FreshRuns

#: How many of them are worth two fresh processes each.
MOST = 2


@dataclass(frozen=True)
class OtherFailure:
    """Another failure: its signature, and the smallest candidate that showed it, as text."""

    signature: Signature
    text: str

    def to_json(self) -> Json:
        """The entry of report.json, without the program."""
        return {
            "kind": str(self.signature.kind),
            "signature": self.signature.describe(),
            "lines": count_lines(self.text),
        }


def _is_internal(answer: Answer) -> bool:
    """Whether a candidate died, or met an internal assertion of torch."""
    return answer.failure is None or is_internal(answer.failure)


class OtherFailures:
    """Collects other failures than `wanted` while candidates run, as long as it is `listening`.
    `seeds` are those that candidates set.
    """

    def __init__(self, wanted: Signature, seeds: Collection[int] = ()) -> None:
        self.wanted = wanted
        #: What every candidate has beside the numbers of its program.
        self._of_the_text = {CannotJudgeError.exit_code, *seeds}
        self.listening = True
        self._found: dict[str, OtherFailure] = {}

    def note(self, text: str, answer: Answer) -> None:
        """A candidate that fails, but not as wanted.

        A time limit or a lack of memory is a limit of ours, no failure.
        """
        signature = find_failure(answer) if self.listening else None
        if signature is None or signature.kind == Kind.HANG or answer.out_of_memory:
            return
        if signature.kind == Kind.CRASH and signature.exception in REFUSALS:
            return  # what torch states as a limit, or suggests a fix for
        if self.wanted.layer == Layer.EAGER and not _is_internal(answer):
            return  # wrong arguments
        if signature.kind == Kind.CRASH and _is_of_the_harness(answer):
            return
        if signature.kind == self.wanted.kind and signature.kind != Kind.CRASH:
            return
        for key, known in self._found.items():
            if is_same_failure(known.signature, signature):
                if len(text) < len(known.text):
                    self._found[key] = OtherFailure(known.signature, text)
                return
        self._found[signature.describe()] = OtherFailure(signature, text)

    def keep(self, signature: Signature, text: str) -> None:
        """A program that fails in the same way and is another fault, since the one that was asked
        about is there without it.
        """
        self._found[f"{signature.describe()} beside"] = OtherFailure(signature, text)

    def list_all(self) -> tuple[OtherFailure, ...]:
        """Everything noted, in the order of the first meeting."""
        return tuple(self._found.values())

    def confirm(self, fresh: FreshRuns, limit: float) -> tuple[OtherFailure, ...]:
        """Those of the smallest few that a fresh process shows as well, and that pass without the
        compiler.

        One that still has numbers of the private program is left out: nothing has asked whether it
        needs them.

        Args:
            fresh: runs them in the interpreter that they failed in.
            limit: in seconds for each process.

        Returns:
            At most `MOST`, the smallest first.
        """
        found = self._found.values()
        public = [other for other in found if _has_plain_numbers(other.text, self._of_the_text)]
        smallest = sorted(public, key=lambda other: (len(other.text), other.text))
        kept = []
        for other in smallest[:MOST]:
            again = find_failure(fresh.run_fresh(other.text, limit))
            if again is None or not is_same_failure(other.signature, again):
                continue
            is_eager = self.wanted.layer == Layer.EAGER
            if is_eager or fresh.run_control(other.text, limit).passed:
                kept.append(other)
        return tuple(kept)


def _has_plain_numbers(text: str, others: Collection[int]) -> bool:
    """Whether each number of a program is a small whole one, one of two digits or of the others."""
    numbers = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return all(
        is_simple(number) or number in others
        for number in numbers
        if isinstance(number, (int, float))
    )


def _is_of_the_harness(answer: Answer) -> bool:
    """Whether the repro's own comparison raised, as it does for a result that is no tensor: torch
    had returned by then.
    """
    compared = any(frame["function"] == "main" for frame in answer.frames)
    return compared and not any(f["torch"] or f["function"] == "run" for f in answer.frames)
