"""Asking whether candidates show the failure: what every pass does, and all that it does.

Candidates are complete texts; the answers count in the order of the questions, so that what a pass
finds does not depend on how many run side by side.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from anonymizer.graph.expressions import NotPublicError
from anonymizer.graph.ir import Graph
from anonymizer.graph.repro import DERIVATIVE_CHECKS
from anonymizer.graph.triangles import is_differentiable
from collectors.protocol.variation import Overrides
from reporter.core.answer import Answer
from reporter.core.candidate import Candidate
from reporter.core.delta_debugging import minimize_list
from reporter.reduce.scheduler import Counts, Scheduler

T = TypeVar("T")

#: So many candidates in a row that change nothing, for so many seconds, are a stall.
_IN_VAIN, _PATIENCE = 24, 60.0

#: A smaller candidate made from one, or None where there is nothing to change.
Change = Callable[[Candidate], "Candidate | None"]


class Questions:
    """Candidates in, answers out; a candidate that cannot be written down is not interesting.

    `overrides` go with every candidate, see `set_overrides` and `override`. Nothing further is
    interesting once `most` candidates of the search have settled.
    """

    def __init__(self, scheduler: Scheduler, progress: Callable[[Candidate], None]) -> None:
        self.scheduler = scheduler
        self._overrides: Overrides = {}
        self.most: int | None = None
        #: What went wrong in writing candidates, but for texts that may not be public.
        self.unwritten: dict[str, None] = {}
        self._tell = progress
        #: How far the search was when it last got a plainer program; None where a stall is none.
        self._gained: Counts | None = None

    @property
    def overrides(self) -> Overrides:
        """What every candidate is asked with."""
        return self._overrides

    def set_overrides(self, overrides: Overrides) -> None:
        """From here on, every candidate is asked with these alone."""
        self._overrides = overrides

    @contextlib.contextmanager
    def override(self, overrides: Overrides) -> Iterator[None]:
        """Within, every candidate is asked with these alone."""
        before, self._overrides = self._overrides, overrides
        try:
            yield
        finally:
            self._overrides = before

    @contextlib.contextmanager
    def give_up_on_stall(self) -> Iterator[None]:
        """Nothing further is interesting within, once the search stalls: many candidates in a row
        have changed nothing, for longer than all before them took.

        For the reduction of a program that fails. Before there is one, all that is left is asked.
        """
        self._gained = self.scheduler.counts
        try:
            yield
        finally:
            self._gained = None

    def _write(self, candidate: Candidate | None) -> str | None:
        """The text of a candidate, or None if it cannot be written down."""
        if candidate is None or not _is_meaningful(candidate):
            return None
        try:
            return candidate.render()
        except NotPublicError:
            return None
        # a pass may take away what the writer needs; which errors those were is told
        except (LookupError, ValueError, TypeError, ArithmeticError, AssertionError) as error:
            self.unwritten[f"{type(error).__name__} while writing a program"] = None
            return None

    def _report_progress(self, candidate: Candidate) -> None:
        if self._gained is not None:
            self._gained = self.scheduler.counts
        self._tell(candidate)

    def pick(self, options: Iterable[tuple[T, Candidate | None]]) -> tuple[T, Candidate] | None:
        """The first option, in order, whose candidate shows the failure.

        Args:
            options: (tag, candidate); the caller tells the options apart by the tag. None for a
                candidate stands for one that cannot be made.

        Returns:
            The option; None where none shows the failure, or the search is at its end.
        """
        found = self._find(options)
        if found is not None:
            self._report_progress(found[1])
        return found

    def find_accepted(
        self, candidates: Iterable[Candidate], accept: Callable[[Candidate], bool]
    ) -> Candidate | None:
        """The first candidate, in order, that shows the failure and is accepted then."""
        rest = list(candidates)
        while (found := self._find(enumerate(rest))) is not None:
            at, candidate = found
            if accept(candidate):
                self._report_progress(candidate)
                return candidate
            rest = rest[at + 1 :]
        return None

    def _find(self, options: Iterable[tuple[T, Candidate | None]]) -> tuple[T, Candidate] | None:
        if self._is_enough():
            return None
        kept: list[tuple[T, Candidate]] = []

        def write_texts() -> Iterator[str]:
            for tag, candidate in options:
                text = self._write(candidate)
                if text is not None and candidate is not None:
                    kept.append((tag, candidate))
                    yield text

        index = self.scheduler.find_first(write_texts(), self._overrides)
        return None if index is None else kept[index]

    def find_first(self, candidates: Iterable[Candidate]) -> Candidate | None:
        """The first candidate, in order, that shows the failure."""
        found = self.pick((None, candidate) for candidate in candidates)
        return found[1] if found is not None else None

    def holds(self, candidate: Candidate | None, hints: Iterable[Candidate | None] = ()) -> bool:
        """Whether one candidate shows the failure.

        Args:
            candidate: None, or one that cannot be written as a text, does not show it.
            hints: candidates that may be asked about next; they run meanwhile on idle workers.
        """
        text = self._write(candidate)
        if text is None or candidate is None or self._is_enough():
            return False
        ahead = [hint for hint in map(self._write, hints) if hint is not None]
        if not self.scheduler.ask(text, ahead, self._overrides):
            return False
        self._report_progress(candidate)
        return True

    def sweep(self, candidate: Candidate, changes: Iterable[Change]) -> Candidate:
        """One change after another, each kept if the failure stays; runs ahead as if none of them
        would be.

        A change says None where it does not apply. Each is tried once, on what those before it have
        left.
        """
        left = list(changes)
        while left:
            found = self.pick((at, _apply(change, candidate)) for at, change in enumerate(left))
            if found is None:
                break
            at, candidate = found
            left = left[at + 1 :]
        return candidate

    def minimize(
        self,
        items: Sequence[T],
        candidate: Candidate,
        make: Callable[[list[T], Candidate], Candidate | None],
    ) -> tuple[list[T], Candidate]:
        """The fewest of some items with which the failure stays, by delta debugging.

        Args:
            candidate: the one that has all of the items.
            make: builds a candidate with some items only, from the smallest one so far; None where
                that is no program.

        Returns:
            The items that are left, and their candidate.
        """

        def test_batch(options: Sequence[list[T]]) -> int | None:
            nonlocal candidate
            found = self.pick((at, make(kept, candidate)) for at, kept in enumerate(options))
            if found is None:
                return None
            at, candidate = found
            return at

        kept = minimize_list(items, test_batch)
        return kept, candidate

    def _is_enough(self) -> bool:
        now = self.scheduler.counts
        if self.most is not None and now.settled >= self.most:
            return True
        if self._gained is None:
            return False
        in_vain = now.settled - self._gained.settled
        seconds = now.seconds - self._gained.seconds
        return in_vain >= _IN_VAIN and seconds > max(_PATIENCE, self._gained.seconds)

    def find_answer(self, candidate: Candidate) -> Answer | None:
        """What a candidate that was asked about showed."""
        text = self._write(candidate)
        return self.scheduler.find_answer(text, self._overrides) if text is not None else None

    def has_passed(self, candidate: Candidate) -> bool:
        """Whether a candidate that was asked about ran to its end and showed nothing."""
        answer = self.find_answer(candidate)
        return answer is not None and answer.passed


def _is_meaningful(candidate: Candidate) -> bool:
    """Whether what is asked says something about torch: finite differences of a function do where
    it has a derivative.
    """
    content, asked = candidate.content, candidate.assertion.backward
    return (
        asked not in DERIVATIVE_CHECKS
        or not isinstance(content, Graph)
        or is_differentiable(content)
    )


def _apply(change: Change, candidate: Candidate) -> Candidate | None:
    made = change(candidate)
    return made if made != candidate else None


#: The changes of one kind to try on a candidate, likeliest first.
Changes = Callable[[Candidate], Iterator[Change]]


class Pass(Protocol):
    """One reduction step over candidates."""

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        """A candidate that shows the same failure and is no larger."""


@dataclass(frozen=True)
class SweepPass:
    """A pass of single changes, of one or several kinds: each is tried once, and those of the next
    kind run ahead where a worker is idle.
    """

    kinds: Sequence[Changes]

    def run(self, candidate: Candidate, ask: Questions) -> Candidate:
        """The candidate with every change that keeps the failure."""
        return ask.sweep(candidate, (each for kind in self.kinds for each in kind(candidate)))


def require_graph(candidate: Candidate) -> Graph:
    """The graph of a graph candidate."""
    assert isinstance(candidate.content, Graph)
    return candidate.content
