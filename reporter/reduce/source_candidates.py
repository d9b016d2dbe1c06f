"""Source mode on the deciding side: rewritten sources as candidates, and the user's own backend as
rewritten code.
"""

from __future__ import annotations

import ast
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from anonymizer.edits import reduce
from anonymizer.graph.identifiers import find_names
from anonymizer.graph.repro import CallingConvention, ReproAssertion, ReproBody
from anonymizer.source import rewriting, state
from anonymizer.source.rewriting import SourceError, SourceProgram, ValueLevel
from anonymizer.source.script import processes, public_script
from anonymizer.source.script.command_line import CommandLine
from anonymizer.source.symbols.imports import write_imports
from collectors.protocol.repro_words import Property
from reporter.core.candidate import Candidate
from reporter.core.kinds import (
    EXPORTERS,
    SEVERAL_CALLS,
    WRONG_VALUES,
    Compiler,
    Differentiation,
    Kind,
    Layer,
)
from reporter.reduce import simplification
from reporter.reduce.candidate_questions import Questions, SweepPass
from reporter.reduce.passes import CallPass
from reporter.reduce.rounds import LAST
from reporter.report.captured_call import CapturedCall


@dataclass(frozen=True)
class RewrittenProgram:
    """A `SourceProgram` that can write itself as the body of a repro."""

    program: SourceProgram

    def keep_globals(self) -> RewrittenProgram:
        """A script whose variables, functions and classes are global in each run."""
        return RewrittenProgram(replace(self.program, has_globals=True))

    def build_body(self) -> ReproBody:
        """Definitions without imports, inputs, and the callable."""
        program = public_script.wrap(state.wrap(self.program))
        return ReproBody(
            definitions=program.write_definitions(),
            callable=program.callable_expression,
            inputs=tuple(program.write_inputs()),
            convention=CallingConvention(
                is_module=program.makes_module(),
                is_script=program.is_script,
                state_calls=program.state_calls,
                observes_arguments=program.observes_arguments,
                nested=(self.program if self.program.is_script else program).is_nested(),
            ),
            sizes=program.sizes,
            imports=tuple(line for line in program.write_imports() if line),
        )


def rewrite_program(
    captured: CapturedCall,
    level: ValueLevel = ValueLevel.RANGE,
    say: Callable[[str], None] = lambda _: None,
) -> RewrittenProgram | None:
    """The failing callable as public code, or None if its source cannot be had.

    Args:
        captured: has what was gathered of the program.
        level: how close the values of tensors come to the user's own.
        say: gets a sentence of why there is none, unless nothing was gathered.
    """
    if not captured.material.gathered:
        return None
    gathered, words = captured.material.gathered, captured.surroundings.vocabulary
    return _rewrite("source", lambda: rewriting.rebuild(gathered, words, level), say)


def _rewrite(
    what: str, rebuild_program: Callable[[], SourceProgram], say: Callable[[str], None]
) -> RewrittenProgram | None:
    """What a rewriting makes; None where it cannot, with a sentence of why."""
    try:
        return RewrittenProgram(rebuild_program())
    except SourceError as reason:
        say(f"the {what} is not rewritten: {reason}")
    except Exception as error:
        # private code may be anything; what surprises the rewriter has no rewriting, the graphs may
        # do
        place = traceback.extract_tb(error.__traceback__)[-1]
        name = type(error).__name__
        say(
            f"the {what} is not rewritten: {name} in {place.name}, line {place.lineno} of"
            f" {Path(place.filename).name}"
        )
    return None


def rewrite_as_scripts(
    captured: CapturedCall, say: Callable[[str], None]
) -> Iterator[RewrittenProgram]:
    """The script up to its failing call as public code; of a script of several processes in each
    group that one process can have.

    Args:
        captured: the recorded call.
        say: is told why it cannot be had.
    """
    material = captured.material
    text = material.sources.get(material.script) if material.script is not None else None
    if (
        text is None
        or material.assertion is None
        or material.assertion.compiler != Compiler.COMPILE
    ):
        return
    frames, words = material.frames, captured.surroundings.vocabulary
    given = CommandLine(material.arguments, material.parsed)
    for group in processes.list_groups(text):
        rebuild = partial(public_script.rebuild_script, text, frames, words, group, given)
        made = _rewrite("script", rebuild, say)
        if made is None:
            return
        yield made


def make_judgeable(
    content: RewrittenProgram, assertion: ReproAssertion
) -> Iterator[tuple[RewrittenProgram, ReproAssertion]]:
    """The program, and the assertion that can judge it: where a side effect is lost, with its
    state; where several calls are needed, first with those before it, and with objects that all of
    them get; where values are wrong, also with state that each run makes anew.
    """
    program = content.program
    if assertion.property == Property.SIDE_EFFECT:
        for observed in state.observe(program):
            yield RewrittenProgram(observed), assertion
        return
    renewed = list(state.renew(program)) if assertion.kind in WRONG_VALUES else []
    if renewed and state.holds_generators(program):  # a second run would go on with the first one's
        program, content, renewed = renewed[0], RewrittenProgram(renewed[0]), []
    several = [
        (
            RewrittenProgram(replace(made, inputs=each.inputs, sizes=each.calls[-1])),
            replace(assertion, calls=each.calls),
        )
        for made in (program, *renewed)
        for each in program.sequences
    ]
    has_state = keeps_state(program, assertion)
    if assertion.kind in SEVERAL_CALLS or has_state:
        yield from several
        yield from _keep_arguments(several)
    yield content, assertion
    yield from ((RewrittenProgram(made), assertion) for made in renewed)
    if assertion.kind not in SEVERAL_CALLS and assertion.compiler == Compiler.COMPILE:
        yield from several
    elif assertion.compiler in EXPORTERS and not has_state:
        # the first call is the one that it is exported for
        yield from (each for each in several if any(each[1].calls))


def keeps_state(program: SourceProgram, assertion: ReproAssertion) -> bool:
    """Whether what a call of an exported program leaves in a buffer may show at the next one."""
    is_of_values = assertion.compiler in EXPORTERS and assertion.kind in WRONG_VALUES
    return is_of_values and state.writes_buffers(program)


def _keep_arguments(
    several: Sequence[tuple[RewrittenProgram, ReproAssertion]],
) -> Iterator[tuple[RewrittenProgram, ReproAssertion]]:
    """Several calls of a program that all get the same objects, where it is given some, and nothing
    differs from call to call: as they are at the last call, or as they may have been at the first.
    """
    for made, assertion in several:
        is_same = not any(assertion.calls) and state.holds_objects(made.program)
        if is_same and assertion.backward == Differentiation.NONE:
            kept = replace(assertion, keeps_arguments=True)
            yield made, kept
            begun = state.forget_stored(made.program)
            if begun is not None:
                yield RewrittenProgram(begun), kept


def rewrite_backend(captured: CapturedCall) -> SourceProgram | None:
    """The user's own backend as public code, or None if there is none to be had."""
    if not captured.material.gathered:
        return None
    try:
        return rewriting.rebuild_backend(
            captured.material.gathered, captured.surroundings.vocabulary
        )
    except SourceError:
        return None


def rename_exception(captured: CapturedCall) -> CapturedCall:
    """The recording with the class that the program's own code raises under the name that rewritten
    code has for it.
    """
    wanted = captured.verdict.signature
    if wanted is None or wanted.exception is None:
        return captured
    made = rewrite_backend(captured) if captured.verdict.layer == Layer.BACKEND else None
    if made is None:
        rebuilt = rewrite_program(captured)
        made = rebuilt.program if rebuilt is not None else None
    public = made.private.mapping.get(wanted.exception) if made is not None else None
    if public is None:
        return captured
    verdict = replace(captured.verdict, signature=replace(wanted, exception=public))
    return replace(captured, verdict=verdict)


def write_backend(program: SourceProgram) -> str:
    """The definitions of a backend with the imports that a repro does not have anyway."""
    extra = [line for line in write_imports(program.definitions) if line and line != "import torch"]
    return "\n".join([*extra, program.write_definitions()])


@dataclass(frozen=True)
class _Control:
    """A plain function of one tensor that has nothing to do with the failure."""

    expression: str

    def build_body(self) -> ReproBody:
        definitions = f"def repro(x):\n    return {self.expression}"
        return ReproBody(definitions, "repro", ("return (torch.ones(2),)",))


#: A plainer assertion around the source.
_PLAINER_ASSERTION = SweepPass((simplification.propose_options, simplification.propose_backward))
_CONTROLS = tuple(map(_Control, ("x + 1", "torch.relu(x)", "x * 2", "x.sum()")))


def reduce_backend(candidate: Candidate, program: SourceProgram, ask: Questions) -> Candidate:
    """The candidate with the smallest version of the user's backend that shows the failure.

    A backend that fails for everybody shows nothing, and the shortest way to an error is to raise
    it always. So what the whole backend compiles rightly (`_CONTROLS`) each version has to, too;
    one that compiles none of that stays as it is.

    Args:
        candidate: its assertion's prelude holds the backend as `write_backend` writes `program`.
        program: the backend alone, as public code.
        ask: runs the versions.

    Returns:
        The same candidate where the prelude does not hold it or nothing smaller fails.
    """

    before = candidate.assertion.prelude
    text = write_backend(program)
    if not text or text not in before:
        return candidate
    kind = Kind.CRASH if candidate.assertion.kind == Kind.CRASH else Kind.WRONG_RESULT
    plain = replace(
        candidate.assertion, kind=kind, calls=(), contexts=(), backward=Differentiation.NONE
    )

    def wrap(item: SourceProgram, other: Candidate = candidate) -> Candidate:
        return other.with_assertion(prelude=before.replace(text, write_backend(item)))

    def works(item: SourceProgram, control: _Control) -> bool:
        asked = wrap(item, Candidate(control, plain))
        return not ask.holds(asked) and ask.has_passed(asked)

    controls = [control for control in _CONTROLS if works(program, control)]
    must_return = _returns(program)

    def find_first(programs: Sequence[SourceProgram]) -> int | None:
        left = [at for at, item in enumerate(programs) if _returns(item) or not must_return]
        while (found := ask.pick((at, wrap(programs[at])) for at in left)) is not None:
            chosen = found[0]
            if all(works(programs[chosen], control) for control in controls):
                return chosen
            left = [at for at in left if at > chosen]
        return None

    if not controls:
        return candidate
    smaller = wrap(reduce.reduce(program, find_first))
    return smaller if ask.holds(smaller) else candidate


def _returns(program: SourceProgram) -> bool:
    """Whether the backend ends by giving back something that can be called."""
    functions = [
        node
        for node in ast.parse(write_backend(program)).body
        if isinstance(node, ast.FunctionDef) and node.name in program.callable_expression
    ]
    last = functions[-1].body[-1] if functions else None
    return isinstance(last, ast.Return) and not isinstance(last.value, (ast.Constant, type(None)))


def reduce_source(initial: Candidate, ask: Questions) -> Candidate:
    """The smallest rewritten source that shows the failure, then the plainest assertion."""

    assert isinstance(initial.content, RewrittenProgram)
    best = _PLAINER_ASSERTION.run(CallPass().run(initial, ask), ask)

    def find_first(programs: Sequence[SourceProgram]) -> int | None:
        made = (Candidate(RewrittenProgram(item), best.assertion) for item in programs)
        found = ask.pick(enumerate(made))
        return found[0] if found is not None else None

    assert isinstance(best.content, RewrittenProgram)
    smallest = reduce.reduce(best.content.program, find_first)
    reduced = _without_unused_sizes(Candidate(RewrittenProgram(smallest), best.assertion), ask)
    return _without_loop(LAST.run(reduced, ask), ask)


def _without_loop(candidate: Candidate, ask: Questions) -> Candidate:
    """The only call that is left of several, alone, if it fails so."""
    calls = candidate.assertion.calls
    if len(calls) != 1 or not isinstance(candidate.content, RewrittenProgram):
        return candidate
    alone = RewrittenProgram(replace(candidate.content.program, sizes=calls[0]))
    return ask.find_first([Candidate(alone, replace(candidate.assertion, calls=()))]) or candidate


def _without_unused_sizes(candidate: Candidate, ask: Questions) -> Candidate:
    """The candidate without what differs between its calls and is read nowhere any more."""
    assert isinstance(candidate.content, RewrittenProgram)
    program = candidate.content.program
    read = find_names(program.inputs)
    if all(name in read for name, _ in program.sizes):
        return candidate
    sizes = tuple(each for each in program.sizes if each[0] in read)
    calls = tuple(
        tuple(each for each in call if each[0] in read) for call in candidate.assertion.calls
    )
    assertion = replace(candidate.assertion, calls=calls)
    return (
        ask.find_first([Candidate(RewrittenProgram(replace(program, sizes=sizes)), assertion)])
        or candidate
    )


def count_statements(candidate: Candidate) -> int:
    """Tensor operations of a rewritten source."""
    content = candidate.content
    if isinstance(content, RewrittenProgram):
        return content.program.count_statements()
    return int(getattr(content, "statements", 0))
