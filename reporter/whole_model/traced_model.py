"""The whole failing model as public code, with the proof that it is the same model.

The proof is measured where the private model lives: the rewritten text gets the private weights and
has to give the same values, gradients and operators. Only then is it asked, like every candidate,
whether it shows the failure.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from anonymizer.graph import recipes
from anonymizer.graph.expressions import NotPublicError
from anonymizer.graph.ir import Graph
from anonymizer.graph.repro import ReproAssertion, ReproBody
from anonymizer.model import model
from anonymizer.model import non_stock_operations as parts
from anonymizer.numbers import resizing
from anonymizer.trace import reading, tree
from anonymizer.trace.tree import ROOT
from collectors.protocol.captured_trace import TraceJson
from collectors.protocol.graphs import EquivalenceRequest, TraceWay
from collectors.protocol.words import CallOutcome
from reporter.core.candidate import Candidate, Content
from reporter.core.errors import CannotJudgeError
from reporter.core.json_values import Json
from reporter.core.kinds import SEVERAL_CALLS, Layer
from reporter.recording import questions
from reporter.recording.call_session import CallSession
from reporter.reduce.candidate_questions import Questions
from reporter.reduce.initial_candidates import choose_cheaper_backend
from reporter.reduce.source_candidates import RewrittenProgram
from reporter.report.captured_call import CapturedCall, Rewriting, WholeModel
from reporter.report.sections.base import build_section
from reporter.report.sections.whole_model import EquivalenceSection
from reporter.whole_model import source_model
from reporter.whole_model.source_model import PARTS, Difference, select_parts, write_model

_OWN_BACKWARD = "torch.autograd.Function"
#: What is rewritten as other operators on purpose, told in the trace's words.
_TAKEN_APART = frozenset({"a custom operator", "a tensor subclass", _OWN_BACKWARD})


@dataclass(frozen=True)
class TracedModel:
    """A traced program that writes itself as a model; `weights` and `registered` as `model.write`
    has them.
    """

    program: tree.TracedProgram
    weights: str = ""
    registered: bool = False

    @functools.cached_property
    def written(self) -> model.PublicModel:
        """The model.

        Raises:
            NotPublicError: it holds what may not leave.
        """
        return model.write(self.program, self.weights, self.registered)

    def build_body(self) -> ReproBody:
        """The model as the body of a repro."""
        return self.written.body

    @property
    def statements(self) -> int:
        """Operations, a stock layer counting as one."""
        return self.program.statements


def _read_trace(trace: TraceJson, level: str = "plain", calls: bool = False) -> TracedModel:
    """The model of a trace, the values that it was given made at one of `values.LEVELS`.

    `calls`: its inputs can be made in the sizes of the earlier calls, too.
    """
    return TracedModel(
        reading.read_program(
            trace if calls else {**trace, "earlier": []}, recipes.make_recipe_chooser(level)
        )
    )


def collect(call_session: CallSession, timeout: float, allow: Sequence[str] = ()) -> WholeModel:
    """The trace of the recorded call and the proof of the model that is written from it.

    It is traced a second time where a custom operator cannot be looked into, or where a size came
    out of a cache.

    Args:
        timeout: seconds of one run of the call; the comparison gets twice that.
        allow: names of the tensors whose values may be noted, too.
    """
    way: TraceWay = {"look_inside": True, "empty_caches": False}
    found = _collect(call_session, timeout, allow, way)
    if "a custom operator" in found.get("trace", {}).get("reasons", ()) and not _is_proved(found):
        # what its Python is made of cannot be told: then it is one operation, of which only the
        # outside is known
        second = _collect(call_session, timeout, allow, {**way, "look_inside": False})
        return second if _is_proved(second) else found
    if _holds_one_batch(found):
        # a size came out of a cache, where it is a number
        second = _collect(call_session, timeout, allow, {**way, "empty_caches": True})
        return second if _is_proved(second) and not _holds_one_batch(second) else found
    return found


def _holds_one_batch(found: WholeModel) -> bool:
    """Whether the rewritten model fails or differs where the private one accepts more rows."""
    batch = found.get("equivalence", {}).get("batch")
    return batch is not None and batch["how"] in ("raises", "differ")


def _is_proved(found: WholeModel) -> bool:
    """Whether the rewritten model is the private one."""
    try:
        _require_equivalence(found)
    except CannotJudgeError:
        return False
    return True


def _collect(
    call_session: CallSession, timeout: float, allow: Sequence[str], way: TraceWay
) -> WholeModel:
    answer = call_session.request(questions.trace(allow, way), timeout)
    if answer["outcome"] != CallOutcome.OK:
        return {
            "error": f"the call could not be traced ({questions.explain_missing_answer(answer)})"
        }
    trace = answer["trace"]
    try:
        written = _read_trace(trace).written
    except NotPublicError as reason:
        return {"trace": trace, "error": f"it holds what may not leave: {reason}"}
    modules = {module["id"]: module for module in trace["modules"]}
    public = written.counterparts
    request: EquivalenceRequest = {
        "op": "equivalence",
        "text": write_model(written.body),
        "callable": written.body.callable,
        "mapping": dict(public.tensors),
        "arguments": list(written.arguments),
        "layers": {p: n for p, n in public.modules.items() if n in modules and modules[n]["stock"]},
        "training": written.training,
        "stand_ins": list(public.operators),
        "way": way,
        "file": str(call_session.folder / "equivalence.pt"),
    }
    proof = call_session.request(questions.check_equivalence(request), 2 * timeout)
    return {"trace": trace, "equivalence": proof}


def describe_equivalence(
    captured: CapturedCall, content: Content | Graph | None = None
) -> EquivalenceSection:
    """The equivalence of a rewriting as report.json states it, of any that is proved without
    `content`.

    Raises:
        CannotJudgeError: the rewritten model is not the private one.
    """
    untraced: WholeModel = {"error": "the call was not traced"}
    found = captured.material.whole or untraced
    if isinstance(content, RewrittenProgram):
        return source_model.describe_equivalence(_read_rewriting(found))
    try:
        return _require_equivalence(found)
    except CannotJudgeError as reason:
        if content is not None:
            raise
        try:
            return source_model.describe_equivalence(_read_rewriting(found))
        except CannotJudgeError:
            raise reason from None


def _read_rewriting(whole: WholeModel) -> Rewriting:
    return whole.get("source") or {"error": "it was not asked for"}


def _require_equivalence(whole: WholeModel) -> EquivalenceSection:
    if "error" in whole:
        raise CannotJudgeError(f"the model could not be rewritten as a whole: {whole['error']}")
    found = whole["equivalence"]
    reasons = "; ".join(whole["trace"]["reasons"])
    hint = f" ({reasons})" if reasons else ""
    if found["outcome"] != CallOutcome.OK:
        raise CannotJudgeError(
            "the rewritten model does not run with the private weights:"
            f" {questions.explain_missing_answer(found)}{hint}"
        )
    wrong = [part for part in PARTS if found[part]["how"] == "differ"]
    if wrong:
        location = _describe_location(whole["trace"], found.get("layer"))
        raise CannotJudgeError(
            f"the rewritten model is not equivalent to the private one: {' and '.join(wrong)}"
            " differ by up to"
            f" {max(found[part]['max_abs_error'] for part in wrong):.3g}{location}{hint}"
        )
    if found["gradients"]["how"] == "not compared" and _OWN_BACKWARD in whole["trace"]["reasons"]:
        raise CannotJudgeError(
            "whether the rewritten model is equivalent to the private one cannot be told: the"
            f" backward of its {_OWN_BACKWARD} gives no gradient other than zero in this call"
        )
    if not found["operators"]["same"] and not _TAKEN_APART.intersection(whole["trace"]["reasons"]):
        changed = ", ".join(sorted(found["operators"]["changed"])[:5])
        raise CannotJudgeError(
            f"the rewritten model does not use the operators of the private one: {changed} are not"
            " as often in it"
        )
    stand_ins = _read_trace(whole["trace"]).written.counterparts.operators
    apart = sorted(_TAKEN_APART.intersection(whole["trace"]["reasons"]) - set(stand_ins.values()))
    return build_section(
        EquivalenceSection,
        {
            "proved": True,
            **select_parts(found),
            # proved with the private operations in the place of these: of what they compute
            # nothing is claimed
            **({"stand_ins": dict(stand_ins)} if stand_ins else {}),
            **({"taken_apart": apart} if apart else {}),
        },
    )


def _describe_location(trace: TraceJson, path: str | None) -> str:
    """`, first in model.layers.0` in the user's own words: this is said on the terminal and nowhere
    else.
    """
    if path is None:
        return ""
    number = _read_trace(trace).written.counterparts.modules.get(path)
    name = (trace["private"]["modules"].get(str(number)) or [path])[0]
    return f", first in {name or path}"


def build_candidates(captured: CapturedCall, assertion: ReproAssertion) -> Iterator[Candidate]:
    """The whole model under the assertion: its operations, if that is proved, then its source, if
    that is.
    """
    assert captured.material.whole is not None
    with contextlib.suppress(CannotJudgeError):
        _require_equivalence(captured.material.whole)
        yield from _list_trace_candidates(captured, captured.material.whole["trace"], assertion)
    with contextlib.suppress(CannotJudgeError):
        source_model.describe_equivalence(_read_rewriting(captured.material.whole))
        yield from source_model.build_candidates(captured, assertion)


def _list_trace_candidates(
    captured: CapturedCall, trace: TraceJson, assertion: ReproAssertion
) -> Iterator[Candidate]:
    """Candidates of the trace, their values from plain to those that keep to what was measured."""
    assertions = [assertion]
    cheaper = choose_cheaper_backend(assertion, captured.verdict.layer)
    if cheaper is not None:
        assertions.append(cheaper)
    if assertion.double:  # what casts to float32 itself cannot run in float64
        assertions += [replace(item, double=False) for item in assertions]
    several = assertion.kind in SEVERAL_CALLS
    stats = [t["stats"] for t in trace["tensors"] if t["kind"] == "param" and "stats" in t]
    for weights in ("", *recipes.write_weight_recipes(stats)):
        for level in recipes.list_value_levels(t.get("stats") for t in trace["tensors"]):
            content = replace(_read_trace(trace, level, several), weights=weights)
            for form in _list_forms(content):
                settings = {"calls": form.written.calls, "evaluation": not form.written.training}
                for item in assertions:
                    yield Candidate(form, replace(item, **settings))  # type: ignore[arg-type]


def _list_forms(content: TracedModel) -> Iterator[TracedModel]:
    """Stand-ins as plain functions, then as operators that the compiler does not look into."""
    yield content
    if content.written.counterparts.operators:
        with contextlib.suppress(NotPublicError):
            registered = replace(content, registered=True)
            if registered.written:
                yield registered


def map_names(captured: CapturedCall) -> Json:
    """Public name -> private name of classes, blocks, layers and tensors of a rewritten trace."""
    assert captured.material.whole is not None
    trace = captured.material.whole["trace"]
    public = _read_trace(trace).written.counterparts
    private = trace["private"]
    modules = {int(number): names for number, names in private["modules"].items()}
    paths = {number: path for number, (path, _) in modules.items()}
    classes = {number: cls for number, (_, cls) in modules.items()}
    functions = {int(number): name for number, name in private.get("functions", {}).items()}
    attributes = {
        name: _map_attributes(public, numbers, paths, private["tensors"])
        for name, numbers in public.classes.items()
    }
    return {
        "attributes": {name: found for name, found in attributes.items() if found},
        "classes": {
            **{
                name: sorted({classes.get(number, "") for number in numbers if number != ROOT})
                for name, numbers in public.classes.items()
            },
            **{name: sorted({functions[n] for n in ns}) for name, ns in public.functions.items()},
        },
        "modules": {path: paths.get(number, "") for path, number in public.modules.items()},
        "tensors": {
            path: private["tensors"].get(label, "") for path, label in public.tensors.items()
        },
    }


def _map_attributes(
    public: model.Counterparts,
    numbers: Sequence[int],
    paths: Mapping[int, str],
    tensors: Mapping[str, str],
) -> dict[str, list[str]]:
    """Attribute of a public class -> the attributes of the private modules behind it.

    Args:
        numbers: the private modules.
        paths: number of a private module -> its path.
        tensors: given tensor -> its private path.
    """
    found: dict[str, dict[str, None]] = {}

    def note(attribute: str, private: str) -> None:
        if attribute and private:
            found.setdefault(attribute, {})[private] = None

    for number in numbers:
        owners = [path for path, other in public.modules.items() if other == number]
        for path, inner in public.modules.items() if number != ROOT else ():
            note(
                _find_attribute(path, owners),
                _find_attribute(paths.get(inner, ""), [paths.get(number, "")]),
            )
    for path, label in public.tensors.items():
        owner, _, attribute = path.rpartition(".")
        if public.modules.get(owner) in numbers:
            note(attribute, tensors.get(label, "").rpartition(".")[2])
    return {attribute: list(private) for attribute, private in found.items()}


def _find_attribute(path: str, owners: list[str]) -> str:
    """The attribute through which a path goes on from one of its owners; a list's attribute without
    its index.
    """
    for owner in owners:
        if path.startswith(owner + ".") or not owner and path:
            rest = path[len(owner) :].lstrip(".").split(".")
            if len(rest) == 1 or len(rest) == 2 and rest[1].isdigit():
                return rest[0]
    return ""


def with_program(candidate: Candidate, program: tree.TracedProgram) -> Candidate:
    """The candidate with a changed program in the place of its own."""
    assert isinstance(candidate.content, TracedModel)
    content = replace(candidate.content, program=program)
    calls = content.written.calls if candidate.assertion.calls else ()
    return replace(candidate, content=content, assertion=replace(candidate.assertion, calls=calls))


def list_needed_sizes(captured: CapturedCall, candidate: Candidate) -> list[int]:
    """The sizes of the private model that the failure needs, without the generic ones."""
    if not isinstance(candidate.content, TracedModel):
        return []  # its text is read for them
    assert captured.material.whole is not None
    before = _read_trace(captured.material.whole["trace"]).program
    left = resizing.find_common_sizes(before, candidate.content.program)
    return sorted(resizing.collect_taken_sizes(before) & left)


def find_difference(
    captured: CapturedCall, candidate: Candidate, ask: Questions
) -> Difference | None:
    """The smallest set of non-stock operations with which the model fails, found by leaving out as
    many as possible.

    Args:
        captured: the private call, whose layer says what the failure needs.
        candidate: the whole model, which fails.
        ask: runs the smaller ones.

    Returns:
        None where the model is source that fails by its operations: what of them is stock is not
        told apart there.
    """
    whole = candidate.content
    if isinstance(whole, RewrittenProgram):
        if captured.verdict.layer != Layer.DYNAMO:
            return None
        return source_model.find_difference(candidate, ask, _try_operations_alone(captured, ask))
    assert isinstance(whole, TracedModel)
    program = whole.program
    every = parts.find_non_stock_operations(program, whole.written)

    def leave(kept: list[parts.NonStockOperation]) -> Candidate | None:
        gone = [item for item in every if item not in kept]
        try:
            return with_program(candidate, parts.remove_operations(program, gone))
        except (NotPublicError, KeyError, ValueError):  # others may need what is gone
            return None

    skeleton = leave([])
    if ask.holds(skeleton):
        return Difference((), "fails", len(every))
    shown = "passes" if skeleton is not None and ask.has_passed(skeleton) else "cannot be judged"

    kept, _ = ask.minimize(every, candidate, lambda option, _: leave(option))
    return Difference(tuple(parts.describe(program, item) for item in kept), shown, len(every))


def _try_operations_alone(captured: CapturedCall, ask: Questions) -> str:
    """What the rewritten trace showed, of a model that fails only with its Python."""
    assert captured.material.whole is not None and captured.material.assertion is not None
    with contextlib.suppress(CannotJudgeError, StopIteration):
        _require_equivalence(captured.material.whole)
        if ask.has_passed(
            next(
                _list_trace_candidates(
                    captured, captured.material.whole["trace"], captured.material.assertion
                )
            )
        ):
            return "passes"
    return "cannot be judged"
