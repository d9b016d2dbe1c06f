"""A candidate: a program and the assertion around it.

What decides on it is its complete text, in the harness of the search. What is filed is the final
text: the smallest candidate in the plainest form that fails (`reporter.verify.plain`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from anonymizer.graph.compilation import wrap_in_module
from anonymizer.graph.emitter import Emitter, emit
from anonymizer.graph.ir import Graph
from anonymizer.graph.randomness import draws_random_numbers
from anonymizer.graph.repro import ReproAssertion, ReproBody
from anonymizer.harness.text import render_harness
from anonymizer.plain.dynamic_shapes import declare_changing, declare_symbols
from collectors.protocol.failure import Failure
from reporter.core.answer import Answer, is_about_memory
from reporter.core.kinds import EXPORTERS, SILENT, CandidateOutcome, Kind, assert_never
from reporter.core.signature import Signature, is_same_failure, sign_assertion, sign_crash

_COARSE = r"\b(half|float16|bfloat16|autocast)\b"
#: What `torch.autograd.gradcheck` raises.
GRADCHECK_ERROR = "GradcheckError"


class Content(Protocol):
    """A program that is not a graph (a rewritten source): it can write itself as the body of a
    repro.
    """

    def build_body(self) -> ReproBody:
        """Definitions, inputs and the callable."""


@dataclass(frozen=True)
class Candidate:
    """An immutable candidate; every reduction step makes another one."""

    content: Graph | Content
    assertion: ReproAssertion

    def build_body(self) -> ReproBody:
        """The program as the body of a repro.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        content = self.content
        return self._wrap(emit(content) if isinstance(content, Graph) else content.build_body())

    def _wrap(self, body: ReproBody) -> ReproBody:
        return wrap_in_module(body) if self.assertion.compiler in EXPORTERS else body

    def render(self) -> str:
        """The complete repro, not formatted."""
        return render_harness(*self.build_parts())

    def build_parts(self) -> tuple[ReproBody, ReproAssertion]:
        """What `render_harness` is given: the body, and the assertion with the sizes of its calls
        by the names that the body gives them, and in its order. Dynamic dimensions are declared.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        if not isinstance(self.content, Graph):
            body = self.build_body()
            return body, declare_changing(body, self.assertion)
        if not self.assertion.calls:
            symbols = [item.symbols for item in self.content.inputs if item.kind == "input"]
            return self.build_body(), declare_symbols(symbols, self.assertion)
        emitter = Emitter(self.content)
        body = self._wrap(emitter.build_body())
        names = [name for name, _ in body.sizes]
        calls = tuple(
            tuple((name, dict(call)[symbol]) for name, symbol in zip(names, emitter.symbols))
            for call in self.assertion.calls
        )
        return body, declare_changing(body, replace(self.assertion, calls=calls))

    @property
    def draws(self) -> bool:
        """Whether the program draws random numbers: eager and inductor then need the same stream to
        be comparable.
        """
        return draws_random_numbers(self.build_body().definitions)

    @property
    def coarse(self) -> bool:
        """Whether the program computes in half precision, where fused code legitimately skips
        roundings.
        """
        body = self.build_body()
        text = "\n".join(
            (body.definitions, *body.inputs, *self.assertion.contexts, self.assertion.prelude)
        )
        return re.search(_COARSE, text) is not None

    @property
    def casts(self) -> bool:
        """Whether the program itself casts to half precision, so that its float64 run rounds there
        as well.
        """
        text = "\n".join((self.build_body().definitions, *self.assertion.contexts))
        return re.search(_COARSE, text) is not None

    def with_graph(self, graph: Graph) -> Candidate:
        """The same assertion around another graph."""
        return replace(self, content=graph)

    def with_assertion(self, **changes: object) -> Candidate:
        """The same program under a changed assertion."""
        return replace(self, assertion=replace(self.assertion, **changes))  # type: ignore[arg-type]


def find_failure(answer: Answer, wanted: Signature | None = None) -> Signature | None:
    """The failure an answer shows, or None if it shows none (passes, broken, cannot be judged).

    A bare assertion at the top of a plain repro, or of its test, says only that it failed: which
    failure that is the `wanted` one tells.
    """
    match answer.outcome:
        case CandidateOutcome.DIED:
            return Signature(Kind.PROCESS_DEATH, signal=answer.signal)
        case CandidateOutcome.TIMEOUT:
            return Signature(Kind.HANG)
        case CandidateOutcome.FAILS:
            return _from_exception(answer, answer.failure, wanted) if answer.failure else None
        case (
            CandidateOutcome.PASSES
            | CandidateOutcome.CANNOT_JUDGE
            | CandidateOutcome.BROKEN
            | CandidateOutcome.CANCELLED
        ):
            return None
    assert_never(answer.outcome)


def _from_exception(answer: Answer, failure: Failure, wanted: Signature | None) -> Signature:
    """The failure that the exception of an answer shows: the repro's own assertion, or a crash."""
    if failure["exception"] == GRADCHECK_ERROR and "Jacobian" in failure["message"]:
        return Signature(Kind.WRONG_GRADIENT, undefined=answer.undefined)
    if failure["exception"] == "AssertionError":
        own = sign_assertion(failure["message"], wanted)
        if own is not None:
            return replace(own, undefined=answer.undefined)
        functions = [frame["function"] for frame in failure.get("frames") or ()]
        is_own = functions[-1:] == ["<module>"] or functions and functions[-1].startswith("test_")
        if is_own and wanted is not None and wanted.kind in SILENT:
            return Signature(wanted.kind, property=wanted.property)
    return sign_crash(Kind.CRASH, None, failure)


def make_matcher(wanted: Signature) -> Callable[[Answer], bool]:
    """The test whether an answer shows the wanted failure. A crash on recompiling shows as a crash.

    A candidate that ran out of memory met its limit: that it died by the wanted signal, or raised
    the wanted class, shows nothing, unless running out of memory is the wanted failure.
    """
    plain = replace(wanted, kind=Kind.CRASH) if wanted.kind == Kind.CRASH_ON_RECOMPILE else wanted
    memory_too = is_about_memory(f"{wanted.exception}: {wanted.message}")

    def is_interesting(answer: Answer) -> bool:
        found = find_failure(answer, wanted)
        if found is None or answer.out_of_memory and not memory_too:
            return False
        return is_same_failure(plain, found)

    return is_interesting
