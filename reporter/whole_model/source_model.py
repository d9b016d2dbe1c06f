"""The whole failing model as rewritten source: for failures that its operations alone do not show,
as most of Dynamo's.

Like `traced_model`, with the user's Python in the place of a trace, under generated names. The
proof is the same: the rewritten program gets the private tensors and has to give the same values,
gradients and operators.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from anonymizer.graph.imports import list_imports
from anonymizer.graph.repro import ReproAssertion, ReproBody, indent
from collectors.protocol.graphs import EquivalenceAnswer, SourceEquivalenceRequest
from collectors.protocol.words import CallOutcome
from reporter.core.candidate import Candidate
from reporter.core.errors import CannotJudgeError
from reporter.core.operation_names import list_python_words
from reporter.recording import questions
from reporter.recording.call_session import CallSession
from reporter.reduce import initial_candidates, source_candidates
from reporter.reduce.candidate_questions import Questions
from reporter.reduce.source_candidates import RewrittenProgram
from reporter.report.captured_call import CapturedCall, Rewriting
from reporter.report.sections.base import build_section
from reporter.report.sections.whole_model import EquivalenceSection

#: What is compared, beside the operators.
PARTS: tuple[Literal["outputs", "gradients", "buffers"], ...] = ("outputs", "gradients", "buffers")


@dataclass(frozen=True)
class Difference:
    """What the model needs beside stock layers to fail; `skeleton` says what it shows without any
    of it.
    """

    needs: tuple[str, ...]
    skeleton: str
    tried: int


def write_model(body: ReproBody) -> str:
    """The definitions of a model with the imports that they need."""
    return "\n".join([*list_imports(body.definitions, body.imports), "", "", body.definitions, ""])


def collect(call_session: CallSession, captured: CapturedCall, timeout: float) -> Rewriting:
    """The source of the recorded call rewritten, with the proof.

    Args:
        call_session: compares the rewritten program with the call, with the private tensors.
        captured: has what was gathered of the program.
        timeout: seconds of one run of the call; the comparison gets twice that.

    Returns:
        The comparison, or in `error` why there is no source to compare.
    """
    reasons: list[str] = []
    content = source_candidates.rewrite_program(captured, say=reasons.append)
    if content is None:
        return {"error": "; ".join(reasons) or "it has no source that could be rewritten"}
    if content.program.problems:
        return {"error": f"its source cannot be followed ({content.program.problems[0]})"}
    file = str(call_session.folder / "equivalence.pt")
    proof = call_session.request(
        questions.check_equivalence(build_request(content, file)), 2 * timeout
    )
    return {"equivalence": proof}


def build_request(content: RewrittenProgram, file: str) -> SourceEquivalenceRequest:
    """What `prove_equivalence` of `collectors.source.equivalence` wants to know of a rewritten
    source; `file` is a path for its own use.
    """
    body = content.build_body()
    inputs = ["def inputs():", *indent(body.inputs), ""]
    return {
        "op": "source_equivalence",
        "text": "\n".join([write_model(body), *inputs]),
        "callable": body.callable,
        "tensors": [list(pair) for pair in content.program.private.tensors],
        "file": file,
    }


def describe_equivalence(found: Rewriting) -> EquivalenceSection:
    """The equivalence as report.json states it.

    Raises:
        CannotJudgeError: the rewritten source is not the private model.
    """
    if "error" in found:
        raise CannotJudgeError(f"the model's source could not be rewritten: {found['error']}")
    proof = found["equivalence"]
    if proof["outcome"] != CallOutcome.OK:
        raise CannotJudgeError(
            "the rewritten source does not run with the private tensors:"
            f" {questions.explain_missing_answer(proof)}"
        )
    wrong = [part for part in PARTS if proof[part]["how"] == "differ"]
    if wrong or not proof["operators"]["same"]:
        raise CannotJudgeError(
            "the rewritten source is not equivalent to the private model:"
            f" {' and '.join(wrong) or 'operators'} differ"
        )
    return build_section(
        EquivalenceSection, {"proved": True, "rewritten_from": "source", **select_parts(proof)}
    )


def select_parts(proof: EquivalenceAnswer) -> dict[str, object]:
    """What of a proof report.json states."""
    parts: dict[str, object] = {part: proof[part] for part in PARTS}
    batch = {"batch": proof["batch"]} if "batch" in proof else {}
    return {**parts, "operators": proof["operators"], **batch}


def build_candidates(captured: CapturedCall, assertion: ReproAssertion) -> Iterator[Candidate]:
    """The rewritten source as it is, not reduced, then under weaker assertions."""
    content = source_candidates.rewrite_program(captured)
    if content is not None:
        yield from initial_candidates.build_source_candidates(
            content, assertion, captured.verdict.layer
        )


def map_classes(content: RewrittenProgram) -> dict[str, list[str]]:
    """Public class -> the private class that it stands for."""
    private = content.program.private.reverse
    names = [n.name for n in content.program.definitions.body if isinstance(n, ast.ClassDef)]
    return {name: [private[name]] for name in names if name in private}


def find_difference(candidate: Candidate, ask: Questions, skeleton: str) -> Difference:
    """What of Python the failure needs, told of the smallest program that the source reduces to.

    Args:
        candidate: the rewritten source, which fails.
        ask: runs the smaller ones, and counts them.
        skeleton: what the model's operations show alone, for the result.
    """
    settled = ask.scheduler.counts.settled
    smallest = source_candidates.reduce_source(candidate, ask)
    words = list_python_words(smallest.render())
    needed = tuple(f"Python's `{word}`" for word in words)
    needed = needed or ("the Python around its layers",)
    return Difference(needed, skeleton, ask.scheduler.counts.settled - settled)
