"""Source mode on the deciding side: rewritten sources as candidates, and the user's own backend as rewritten code."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from anonymizer import source
from anonymizer.harness import Body
from anonymizer.source import SourceError, SourceProgram
from anonymizer.source_program import import_lines
from reporter.candidate import Candidate
from reporter.recorded import Recorded
from reporter.reduce.passes import Calls
from reporter.reduce.plainer import Backward, Options
from reporter.reduce.questions import Questions


@dataclass(frozen=True)
class Rewritten:
    """A `SourceProgram` that can write itself as the body of a repro."""

    program: SourceProgram

    def body(self) -> Body:
        """Definitions without imports, inputs, and the callable."""
        program = self.program
        return Body(
            definitions=program.definitions_text(),
            callable=program.callable_expression,
            inputs=tuple(program.inputs_lines()),
            is_module="(" in program.callable_expression,
            imports=tuple(line for line in program.imports() if line),
        )


def program(
    recorded: Recorded, exact: bool = False, say: Callable[[str], None] = lambda _: None
) -> Rewritten | None:
    """The failing callable as public code, or None if its source cannot be had; `say` is told why not."""
    if not recorded.gathered:
        return None
    try:
        return Rewritten(source.rebuild(recorded.gathered, recorded.vocabulary, exact))
    except SourceError as reason:
        say(f"the source is not rewritten: {reason}")
    except Exception as error:
        # private code may be anything; what surprises the rewriter has no rewriting, the graphs may do
        place = traceback.extract_tb(error.__traceback__)[-1]
        name = type(error).__name__
        say(
            f"the source is not rewritten: {name} in {place.name}, line {place.lineno} of {Path(place.filename).name}"
        )
    return None


def backend(recorded: Recorded) -> SourceProgram | None:
    """The user's own backend as public code, or None if there is none to be had."""
    if not recorded.gathered:
        return None
    try:
        return source.rebuild_backend(recorded.gathered, recorded.vocabulary)
    except SourceError:
        return None


def backend_text(program: SourceProgram) -> str:
    """The definitions of a backend with the imports that a repro does not have anyway."""
    extra = [line for line in import_lines(program.definitions) if line and line != "import torch"]
    return "\n".join([*extra, program.definitions_text()])


def reduce_backend(candidate: Candidate, program: SourceProgram, ask: Questions) -> Candidate:
    """The candidate with the smallest version of the user's backend that shows the failure."""
    from anonymizer import source_reduce

    before = candidate.check.prelude
    text = backend_text(program)

    def around(item: SourceProgram) -> Candidate:
        return candidate.with_check(prelude=before.replace(text, backend_text(item)))

    must_return = _returns(program)

    def interesting(programs: list[SourceProgram]) -> list[bool]:
        answers = [False] * len(programs)
        # without its result a backend fails for everybody, so nobody could see that the bug is gone
        allowed = [i for i, item in enumerate(programs) if _returns(item) or not must_return]
        made = [around(programs[i]) for i in allowed]
        found = ask.first(made)
        if found is not None:
            answers[next(i for i, item in zip(allowed, made) if item is found)] = True
        return answers

    if not text or text not in before:
        return candidate
    smaller = around(source_reduce.reduce(program, interesting))
    return smaller if ask.holds(smaller) else candidate


def _returns(program: SourceProgram) -> bool:
    """Whether the backend ends by giving back something that can be called."""
    functions = [
        node
        for node in ast.parse(backend_text(program)).body
        if isinstance(node, ast.FunctionDef) and node.name in program.callable_expression
    ]
    last = functions[-1].body[-1] if functions else None
    return isinstance(last, ast.Return) and not isinstance(last.value, (ast.Constant, type(None)))


def reduce_source(seed: Candidate, ask: Questions) -> Candidate:
    """The smallest rewritten source that shows the failure, then the plainest check around it."""
    from anonymizer import source_reduce

    assert isinstance(seed.content, Rewritten)
    best = Backward().run(Calls().run(Options().run(seed, ask), ask), ask)

    def interesting(programs: list[SourceProgram]) -> list[bool]:
        """Only the first success counts, so what is behind it need not run."""
        answers = [False] * len(programs)
        made = [Candidate(Rewritten(item), best.check) for item in programs]
        found = ask.first(made)
        if found is not None:
            answers[next(i for i, item in enumerate(made) if item is found)] = True
        return answers

    assert isinstance(best.content, Rewritten)
    smallest = source_reduce.reduce(best.content.program, interesting)
    return Options(last=True).run(Candidate(Rewritten(smallest), best.check), ask)


def statements(candidate: Candidate) -> int:
    """Tensor operations of a rewritten source."""
    content = candidate.content
    if isinstance(content, Rewritten):
        return content.program.statements()
    return int(getattr(content, "statements", 0))
