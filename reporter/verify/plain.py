"""The reduced program in the plainest form that still shows the failure.

Each form is run as the reader will run it: it has to fail with the signature and to pass its
control run. The harness judges the same program on the same inputs with float64, which a plain
comparison does not; a tolerance that eager itself does not keep is none to file.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import TypeVar

from anonymizer.edits.reduce import drop_one_operation
from anonymizer.graph.randomness import draws_random_numbers
from anonymizer.graph.repro import DERIVATIVE_CHECKS, ReproAssertion, ReproBody
from anonymizer.graph.triangles import reads_triangle
from anonymizer.harness.text import render_harness, render_tolerance
from anonymizer.plain.dynamic_shapes import write_out
from anonymizer.plain.function import return_one_field, use_grad_contexts
from anonymizer.plain.script.creation_calls import fill_inputs, list_sizes, replace_size
from anonymizer.plain.script.forms import PlainForm, list_plain_forms
from anonymizer.plain.text import render_plain
from anonymizer.plain.values import build_plainer_input, build_plainer_inputs, count_random
from reporter.core.answer import Answer
from reporter.core.formatting import format_program
from reporter.core.kinds import CRASHES, WRONG_VALUES, Compiler, Kind
from reporter.execution import control
from reporter.execution.worker_pool import WorkerPool
from reporter.reduce.contrast import ContrastInterpreter

T = TypeVar("T")
#: Different sizes that are tried as 1, at most.
_MOST_SIZES = 3
#: What masks leave, what overflows, and what has no value.
_NOT_FINITE = ("-inf", "inf", "nan")
#: What an operator refuses that wants probabilities, or counts.
_REFUSED = ("2", "-1")
#: Inputs of floats that are filled by themselves, at most.
_MOST_FILLED = 3


@dataclass(frozen=True)
class PlainRepro:
    """A formatted text in a plain form, and the same program on the same inputs in the harness.

    `parts` are what both are written from; they have so many tensor `operations`, where that is no
    more what the candidate has. Without a `form` the text is the harness.
    """

    text: str
    harness: str
    parts: tuple[ReproBody, ReproAssertion]
    operations: int | None = None
    form: PlainForm | None = None

    def with_body(self, body: ReproBody) -> str | None:
        """Another program in the same form; None where it does not fit, or there is none."""
        if self.form is None:
            return None
        return write_plain_program(body, self.parts[1], self.form)


def _list_shorter(body: ReproBody, kind: str) -> Iterator[tuple[ReproBody, int]]:
    """The programs with an operation less, and how many they have. What is left of two may be given
    by the other one what nothing plain has: then with values that are not finite, or one input with
    values that eager mode may refuse.
    """
    for smaller, operations in drop_one_operation(body):
        if kind != Kind.ACCEPTS_INVALID:
            yield smaller, operations
            for value in _NOT_FINITE if _is_single(smaller) else ():
                yield fill_inputs(smaller, value), operations
        elif _is_single(smaller) and _returns_call(smaller):
            filled = (
                fill_inputs(smaller, value, only)
                for only in range(_MOST_FILLED)
                for value in _REFUSED
            )
            yield from ((each, operations) for each in filled if each != smaller)


def _is_single(body: ReproBody) -> bool:
    """Whether one call, or one operator, is all that a program does."""
    nodes = ast.walk(ast.parse(body.definitions))
    return sum(isinstance(node, (ast.Call, ast.BinOp, ast.Compare)) for node in nodes) == 1


def _returns_call(body: ReproBody) -> bool:
    """Whether a program returns what it computes: an error in what nobody reads is lost because the
    compiler leaves that out, which is another thing.
    """
    returned = [node for node in ast.walk(ast.parse(body.definitions)) if type(node) is ast.Return]
    return any(isinstance(node.value, (ast.Call, ast.BinOp)) for node in returned)


@dataclass(frozen=True)
class _Question:
    """Answers that workers are looking for, each with what it has to be; all of them run at
    once.
    """

    asked: tuple[tuple[Future[Answer], Callable[[Answer], bool]], ...]

    def holds(self) -> bool:
        """Whether every answer is as wanted; what still runs after one that is not is stopped."""
        holds = all(is_wanted(answer.result()) for answer, is_wanted in self.asked)
        self.cancel()
        return holds

    def cancel(self) -> None:
        """Stops what still runs."""
        for answer, _ in self.asked:
            answer.cancel()

    def __add__(self, other: _Question) -> _Question:
        return _Question((*self.asked, *other.asked))


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

    def find(self, parts: tuple[ReproBody, ReproAssertion], draws: bool) -> PlainRepro | None:
        """The plainest repro of a program; None where only the harness shows the failure.

        `draws`: whether it may draw random numbers.
        """
        body, assertion = parts
        # a module for training draws nothing where it is evaluated; only values depend on draws
        draws = draws and assertion.kind in WRONG_VALUES and self._meets_draws(body, assertion)
        forms = list(list_plain_forms(assertion, draws, body.convention.is_script))
        form = self._find_form(body, assertion, forms)
        if form is None:
            return None
        operations = None
        # of what hangs each question would take the whole limit; a whole model keeps its inputs
        if assertion.kind != Kind.HANG and not self.keeps_names:
            body, operations = self._find_plainer(body, assertion, form)
            body = self._return_one_field(body, assertion, form)
            if body != parts[0]:  # only the random inputs may have needed the form
                plainer = self._find_form(body, assertion, forms[: forms.index(form)])
                form = form if plainer is None else plainer
            form = self._drop_seed(body, assertion, form)
            assertion = self._spell_dynamic(body, assertion, form)
        text = self._write_text(body, assertion, form)
        assert text is not None
        harness = format_program(render_harness(body, assertion))
        return PlainRepro(text, harness, (body, assertion), operations, form)

    def restore_modes(
        self, parts: tuple[ReproBody, ReproAssertion]
    ) -> tuple[ReproBody, ReproAssertion]:
        """The program with the grad mode switched by `with` statements, which leave none behind,
        where its harness shows the failure in that way too; else `parts` as they are.

        Args:
            parts: as `Candidate.build_parts` has them.
        """
        body, assertion = parts
        other = replace(body, definitions=use_grad_contexts(body.definitions))
        if other == body:
            return parts
        shown = self.pool.submit(format_program(render_harness(other, assertion))).result()
        return (other, assertion) if self.shows(shown) else parts

    def _meets_draws(self, body: ReproBody, assertion: ReproAssertion) -> bool:
        """Whether the eager run of a failing program draws random numbers."""
        shown = self.pool.submit(format_program(render_harness(body, assertion))).result()
        return not self.shows(shown) or "draws" in shown.undefined

    def _find_form(
        self, body: ReproBody, assertion: ReproAssertion, forms: Sequence[PlainForm]
    ) -> PlainForm | None:
        """The first form that shows the failure."""

        def ask(form: PlainForm) -> _Question | None:
            plain = self._ask_plain(body, assertion, form)
            if plain is None or PlainForm.EXACT in form:
                return plain
            return plain + self._ask_tolerance(body, assertion)

        return self._find_first(forms, ask)

    def _return_one_field(
        self, body: ReproBody, assertion: ReproAssertion, form: PlainForm
    ) -> ReproBody:
        """The program that returns one field of a named tuple, `torch.min(x, 1).values`, where that
        one has the wrong values.
        """
        if assertion.kind not in WRONG_VALUES:
            return body
        options = [replace(body, definitions=text) for text in return_one_field(body.definitions)]
        return self._find_first(options, lambda each: self._ask_both(each, assertion, form)) or body

    def _find_plainer(
        self, body: ReproBody, assertion: ReproAssertion, form: PlainForm
    ) -> tuple[ReproBody, int | None]:
        """The program with inputs that read better, where the failure is there with them, and how
        many operations it has, where these are fewer.
        """
        before: ReproBody = body
        operations: int | None = None

        def ask(other: ReproBody) -> _Question | None:
            return self._ask_both(other, assertion, form)

        while (other := self._find_first(build_plainer_inputs(body), ask)) is not None:
            body = self._shrink(other, assertion, ask)
        # the last one first, since those that are plain are not counted any more
        for index in reversed(range(count_random(body))):
            other = self._find_first(build_plainer_input(body, index), ask)
            body = body if other is None else self._shrink(other, assertion, ask)
        may_shorten = (
            assertion.kind in (*WRONG_VALUES, Kind.ACCEPTS_INVALID)
            and not body.convention.is_script
            and (
                assertion.backward not in DERIVATIVE_CHECKS or not reads_triangle(body.definitions)
            )
        )
        # what hangs on values may have needed an operation for the random ones alone
        while may_shorten and body != before:
            options = _list_shorter(body, assertion.kind)
            shorter = self._find_first(options, lambda each: ask(each[0]))
            if shorter is None:
                break
            body, operations = shorter
        return body, operations

    def _shrink(
        self,
        body: ReproBody,
        assertion: ReproAssertion,
        ask: Callable[[ReproBody], _Question | None],
    ) -> ReproBody:
        """The same with dimensions of size 1, which random values may have kept from it."""
        left = (
            () if assertion.calls else [size for size in list_sizes(body)[:_MOST_SIZES] if size > 1]
        )
        while left:
            smaller = [(at, replace_size(body, size, 1)) for at, size in enumerate(left)]
            found = self._find_first(smaller, lambda each: ask(each[1]))
            if found is None:
                break
            at, body = found
            left = left[at + 1 :]
        return body

    def _drop_seed(self, body: ReproBody, assertion: ReproAssertion, form: PlainForm) -> PlainForm:
        """The form without a seed before the inputs, where no random number there counts; a form
        that reseeds sets one before each call as well. Of a crash they do not count where it is
        there with those of every seed that is tried.
        """
        bare = form | PlainForm.UNSEEDED
        draws_weights = body.convention.is_module or "nn." in body.definitions
        draws_inputs = draws_random_numbers("\n".join(body.inputs))
        is_drawn = draws_inputs or (
            body.convention.is_script and self._meets_draws(body, assertion)
        )
        if assertion.kind in WRONG_VALUES and draws_weights:
            return form
        if is_drawn and assertion.kind not in CRASHES:
            return form
        if self._write_text(body, assertion, bare) == self._write_text(body, assertion, form):
            return form
        others = assertion.list_seeds() if is_drawn else ()

        def ask(each: PlainForm) -> _Question | None:
            asked = self._ask_plain(body, assertion, each)
            for seed in others:
                other = self._ask_plain(body, replace(assertion, seed=seed), form)
                asked = asked and other and asked + other
            return asked

        return self._find_first([bare], ask) or form

    def _spell_dynamic(
        self, body: ReproBody, assertion: ReproAssertion, form: PlainForm
    ) -> ReproAssertion:
        """The assertion with what makes sizes dynamic written out."""
        options = write_out(body, assertion)
        return self._find_first(options, lambda each: self._ask_both(body, each, form)) or assertion

    def _find_first(self, options: Iterable[T], ask: Callable[[T], _Question | None]) -> T | None:
        """The first option, in order, whose question holds; later ones are asked where a worker is
        idle.
        """
        window: deque[tuple[T, _Question]] = deque()
        left = iter(options)
        try:
            while True:
                while len(window) < self.pool.jobs and (option := next(left, None)) is not None:
                    question = ask(option)
                    if question is not None:
                        window.append((option, question))
                if not window:
                    return None
                option, question = window.popleft()
                if question.holds():
                    return option
        finally:
            for _, question in window:
                question.cancel()

    def _ask_both(
        self, body: ReproBody, assertion: ReproAssertion, form: PlainForm
    ) -> _Question | None:
        """Whether both texts show the failure, the plain one and the harness."""
        plain = self._ask_plain(body, assertion, form)
        return plain and self._ask_harness(body, assertion) + plain

    def _ask_plain(
        self, body: ReproBody, assertion: ReproAssertion, form: PlainForm
    ) -> _Question | None:
        """Whether a text fails as wanted, and passes without the compiler and where it must; None
        where the form does not fit the program.
        """
        text = self._write_text(body, assertion, form)
        if text is None:
            return None
        asked = [(self.pool.submit(text), self.shows)]
        if control.needs_control(text):
            filled = assertion.kind == Kind.WRONG_METADATA  # which values cannot excuse
            alone = control.WITHOUT_COMPILER_FILLED if filled else control.WITHOUT_COMPILER
            asked.append((self.pool.submit(text, overrides=alone), lambda answer: answer.passed))
        asked += [
            (contrast.pool.submit(text), lambda answer: answer.passed)
            for contrast in self.contrasts
        ]
        return _Question(tuple(asked))

    def _ask_harness(self, body: ReproBody, assertion: ReproAssertion) -> _Question:
        """Whether the harness shows the failure on these inputs too: with float64 as the judge of
        values, and where eager raises, by its exception.
        """
        if assertion.kind not in (*WRONG_VALUES, Kind.ACCEPTS_INVALID):
            return _Question(())
        shown = self.pool.submit(render_harness(body, assertion))
        return _Question(((shown, self.shows),)) + self._ask_tolerance(body, assertion)

    def _ask_tolerance(self, body: ReproBody, assertion: ReproAssertion) -> _Question:
        """Whether rounding stays within the tolerance that values are compared with."""
        if (
            assertion.kind not in WRONG_VALUES
            or not assertion.double
            or assertion.compiler == Compiler.EAGER
        ):
            return _Question(())
        text = render_tolerance(body, assertion)
        return _Question(((self.pool.submit(text), lambda answer: answer.passed),))

    def _write_text(
        self, body: ReproBody, assertion: ReproAssertion, form: PlainForm
    ) -> str | None:
        """The formatted text; None where the form does not fit the program."""
        return write_plain_program(body, assertion, form, self.keeps_names)


def write_plain_program(
    body: ReproBody, assertion: ReproAssertion, form: PlainForm, keeps_names: bool = False
) -> str | None:
    """The formatted text of a program in a plain form; None where the form does not fit it."""
    try:
        return format_program(render_plain(body, assertion, form, keeps_names))
    except (ValueError, SyntaxError, LookupError, AssertionError):
        return None
