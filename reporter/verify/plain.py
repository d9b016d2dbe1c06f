"""The reduced program in the plainest form that still shows the failure.

Each form is run as the reader will run it: it has to fail with the signature and to pass its
control run. The harness judges the same program on the same inputs with float64, which a plain
comparison does not; a tolerance that eager itself does not keep is none to file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anonymizer.graph import boilerplate
from anonymizer.graph.boilerplate import VALUE_KINDS, ReproBody, ReproCheck
from anonymizer.plain.dynamic_shapes import write_out
from anonymizer.plain.forms import PlainForm, plain_forms, render_plain
from anonymizer.plain.makers import sizes_of, with_size
from anonymizer.plain.values import plainer_inputs
from anonymizer.source.reduce import without_one_operation
from reporter.core.answer import Answer
from reporter.core.formatting import format_program
from reporter.core.kinds import Kind
from reporter.execution import control
from reporter.execution.worker_pool import WorkerPool
from reporter.reduce.contrast import ContrastInterpreter, passes

#: Different sizes that are tried as 1, at most.
MOST_SIZES = 3


@dataclass(frozen=True)
class PlainRepro:
    """A formatted text in a plain form, and the same program on the same inputs in the harness.

    `parts` are what both are written from; they have so many tensor `operations`, where that is no
    more what the candidate has.
    """

    text: str
    harness: str
    parts: tuple[ReproBody, ReproCheck]
    operations: int | None = None


class PlainSearch:
    """Looks for the plainest text in warm workers.

    Args:
        pool: workers of the user's interpreter.
        shows: whether an answer shows the wanted failure.
        contrasts: interpreters in which the repro must pass.
        keeps_names: the names of the program stay, since they are translated back.
    """

    def __init__(
        self,
        pool: WorkerPool,
        shows: Callable[[Answer], bool],
        contrasts: Sequence[ContrastInterpreter] = (),
        keeps_names: bool = False,
    ) -> None:
        self.pool = pool
        self.shows = shows
        self.contrasts = contrasts
        self.keeps_names = keeps_names

    def find(self, parts: tuple[ReproBody, ReproCheck], draws: bool) -> PlainRepro | None:
        """The plainest repro of a program; None where only the harness shows the failure.

        `draws`: whether it draws random numbers.
        """
        body, check = parts
        keeps_tolerance = self._keeps_tolerance(body, check)
        for form in plain_forms(check, draws):
            if (PlainForm.EXACT in form or keeps_tolerance) and self._holds(
                self._text(body, check, form)
            ):
                return self._plainer(body, check, form)
        return None

    def _plainer(self, body: ReproBody, check: ReproCheck, form: PlainForm) -> PlainRepro:
        """The same form with inputs that read better, where the failure is there with them."""
        before: ReproBody = body
        operations: int | None = None
        # of what hangs each question would take the whole limit; a whole model keeps its inputs
        if check.kind != Kind.HANG and not self.keeps_names:
            while (other := self._plainer_inputs(body, check, form)) is not None:
                body = self._smaller(other, check, form)
            # what hangs on values may have needed an operation for the random ones alone
            while body != before and check.kind in VALUE_KINDS:
                shorter = self._shorter(body, check, form)
                if shorter is None:
                    break
                body, operations = shorter
            if check.kind not in VALUE_KINDS and next(plainer_inputs(body), None) is None:
                bare = form | PlainForm.UNSEEDED
                if self._text(body, check, bare) != self._text(body, check, form):
                    form = bare if self._holds(self._text(body, check, bare)) else form
            for spelled in write_out(body, check):
                if self._is_judged(body, spelled) and self._holds(self._text(body, spelled, form)):
                    check = spelled
                    break
        text = self._text(body, check, form)
        assert text is not None
        harness = format_program(boilerplate.render(body, check))
        return PlainRepro(text, harness, (body, check), operations)

    def _plainer_inputs(
        self, body: ReproBody, check: ReproCheck, form: PlainForm
    ) -> ReproBody | None:
        """The first program with fewer random inputs that shows the failure."""
        for other in plainer_inputs(body):
            if self._is_judged(other, check) and self._holds(self._text(other, check, form)):
                return other
        return None

    def _shorter(
        self, body: ReproBody, check: ReproCheck, form: PlainForm
    ) -> tuple[ReproBody, int] | None:
        """The program without an operation that random inputs needed, and how many are left."""
        for other, operations in without_one_operation(body):
            if self._holds(self._text(other, check, form)) and self._is_judged(other, check):
                return other, operations
        return None

    def _smaller(self, body: ReproBody, check: ReproCheck, form: PlainForm) -> ReproBody:
        """The same with dimensions of size 1, which random values may have kept from it."""
        for size in () if check.calls else sizes_of(body)[:MOST_SIZES]:
            other = with_size(body, size, 1)
            if size > 1 and self._is_judged(other, check):
                body = other if self._holds(self._text(other, check, form)) else body
        return body

    def _holds(self, text: str | None) -> bool:
        """Whether a text fails as wanted, and passes without the compiler and where it must."""
        if text is None:
            return False
        run = self.pool.submit(text)
        needed = control.needs_control(text)
        alone = self.pool.submit(text, overrides=control.WARM) if needed else None
        in_contrasts = [contrast.pool.submit(text) for contrast in self.contrasts]
        fails = self.shows(run.result()) and (alone is None or passes(alone.result()))
        return fails and all(passes(answer.result()) for answer in in_contrasts)

    def _is_judged(self, body: ReproBody, check: ReproCheck) -> bool:
        """Whether the harness shows the failure on these inputs too, with float64 as the judge."""
        if check.kind not in VALUE_KINDS:
            return True
        is_shown = self.shows(self.pool.submit(boilerplate.render(body, check)).result())
        return is_shown and self._keeps_tolerance(body, check)

    def _keeps_tolerance(self, body: ReproBody, check: ReproCheck) -> bool:
        """Whether rounding stays within the tolerance that values are compared with."""
        if check.kind not in VALUE_KINDS or not check.double or check.compiler == boilerplate.EAGER:
            return True
        return passes(self.pool.submit(boilerplate.render_tolerance(body, check)).result())

    def _text(self, body: ReproBody, check: ReproCheck, form: PlainForm) -> str | None:
        """The formatted text; None where the form does not fit the program."""
        try:
            return format_program(render_plain(body, check, form, self.keeps_names))
        except (ValueError, SyntaxError):
            return None
