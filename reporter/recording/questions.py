"""What may be asked of a recorded call: each question with the type of its answer.

A question is a message of `collectors.protocol`; what answers it is a `CallSession`. A call that
dies or is stopped answers any question, so that only `outcome` is certain to be there: the keys of
the answer itself come with `ok`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from collectors.protocol.call_requests import CallRequest
from collectors.protocol.calls import (
    CallAnswer,
    CompareAnswer,
    CompareRequest,
    LostAnswer,
    RunAnswer,
    TensorsAnswer,
)
from collectors.protocol.compilation import (
    ArgumentChange,
    GraphBreaksAnswer,
    GuardsAnswer,
    SubsystemsAnswer,
)
from collectors.protocol.environment import EnvironmentAnswer
from collectors.protocol.evidence import EvidenceAnswer, EvidenceOptions
from collectors.protocol.graphs import (
    CaptureAnswer,
    CaptureWay,
    DivergenceAnswer,
    DivergenceRequest,
    EquivalenceAnswer,
    EquivalenceRequest,
    GatherAnswer,
    SourceEquivalenceRequest,
    TraceAnswer,
    TraceWay,
)
from collectors.protocol.variation import Rung

#: One of the answers of `collectors.protocol`.
Answered = TypeVar("Answered", covariant=True)


@dataclass(frozen=True)
class CallQuestion(Generic[Answered]):
    """A message about a recorded call; `Answered` is the type of what comes back."""

    message: CallRequest


def run(rung: Rung) -> CallQuestion[RunAnswer]:
    """The call once more, under a variation."""
    return CallQuestion({"op": "run", "rung": rung})


@dataclass(frozen=True)
class ComparisonBasis:
    """What is known of a call beside the two snapshots that are compared.

    `exact` is the snapshot of float64, `ties` what index outputs index; `coarse` says that the
    program computes in half precision somewhere, `random` that it draws random numbers. `again` are
    snapshots of other eager runs: side effects that they do not share are left out.
    """

    exact: str | None = None
    coarse: bool = False
    ties: str | None = None
    random: bool = False
    again: Sequence[str] = ()


def compare(
    reference: str | None, actual: str | None, basis: ComparisonBasis | None = None
) -> CallQuestion[CompareAnswer]:
    """Two snapshots of the call held against each other.

    Args:
        reference: path of the file with the snapshot that counts as right, mostly eager's.
        actual: path of the file with the one that is held against it.
        basis: what else is known of the call; None: nothing.
    """
    basis = basis or ComparisonBasis()
    message: CompareRequest = {
        "op": "compare",
        "reference": reference,
        "actual": actual,
        "exact": basis.exact,
        "origin": "torch.bfloat16" if basis.coarse else None,
        "ties": basis.ties,
        "random": basis.random,
    }
    if basis.again:
        message["again"] = list(basis.again)
    return CallQuestion(message)


def list_tensors() -> CallQuestion[TensorsAnswer]:
    """The tensors that the call can reach, with their sizes in elements."""
    return CallQuestion({"op": "tensors"})


def capture(way: CaptureWay, allow: Sequence[str] = ()) -> CallQuestion[CaptureAnswer]:
    """The Dynamo graphs of the call; `allow` names the tensors whose values may be in them."""
    if "dynamic" in way:
        return CallQuestion(
            {
                "op": "capture",
                "allow": list(allow),
                "replay": way["replay"],
                "dynamic": way["dynamic"],
            }
        )
    return CallQuestion({"op": "capture", "allow": list(allow), "replay": way["replay"]})


def trace(allow: Sequence[str], way: TraceWay) -> CallQuestion[TraceAnswer]:
    """The operations of the call within its modules."""
    return CallQuestion({"op": "trace", "allow": list(allow), "way": way})


def check_equivalence(
    request: EquivalenceRequest | SourceEquivalenceRequest,
) -> CallQuestion[EquivalenceAnswer]:
    """Whether a rewritten program computes what the call computes."""
    return CallQuestion(request)


def measure_divergence(request: DivergenceRequest) -> CallQuestion[DivergenceAnswer]:
    """The operations of the call's graphs, or how far prefixes of one of them are off."""
    return CallQuestion(request)


def gather() -> CallQuestion[GatherAnswer]:
    """The program's source and state."""
    return CallQuestion({"op": "gather"})


def list_subsystems(settings: Sequence[str]) -> CallQuestion[SubsystemsAnswer]:
    """What can be varied in this release; `settings` are those of interest, by full name."""
    return CallQuestion({"op": "subsystems", "settings": list(settings)})


def find_graph_breaks(backend: str | None = None) -> CallQuestion[GraphBreaksAnswer]:
    """Graph breaks and recompiles of the call and those before it, with its own backend or with
    another.
    """
    if backend is None:
        return CallQuestion({"op": "graph_breaks"})
    return CallQuestion({"op": "graph_breaks", "backend": backend})


def inspect_guards(
    snapshot: str, static: Sequence[ArgumentChange], vary: Sequence[ArgumentChange] | None
) -> CallQuestion[GuardsAnswer]:
    """What the call reused, and what had changed then.

    Args:
        snapshot: path of the file that the snapshot of the call is written to.
        static: changes that are held static.
        vary: only these changes are made; None: all of them.
    """
    return CallQuestion(
        {
            "op": "guards",
            "snapshot": snapshot,
            "static": list(static),
            "vary": None if vary is None else list(vary),
        }
    )


def record_evidence(folder: Path, options: EvidenceOptions) -> CallQuestion[EvidenceAnswer]:
    """The call once more under torch's own debugging tools, which write into `folder`."""
    return CallQuestion({"op": "evidence", "folder": str(folder), "options": options})


def collect_environment() -> CallQuestion[EnvironmentAnswer]:
    """What the target says of itself."""
    return CallQuestion({"op": "environment"})


#: Why the machine has no answer, in words.
_LOST = {
    LostAnswer.UNWRITTEN: "its answer could not be written",
    LostAnswer.SERVER: "fork server lost",
    LostAnswer.CLOSED: "closed",
}


def describe_death(answer: CallAnswer) -> str:
    """How a process ended that was asked, or why its answer is lost; empty where it answered."""
    return _LOST[answer["lost"]] if "lost" in answer else answer.get("signal", "")


def explain_missing_answer(answer: CallAnswer) -> str:
    """The last line of why there is no result, at most 200 characters; it may be private."""
    detail = str(answer.get("detail") or describe_death(answer) or answer.get("outcome"))
    return detail.strip().splitlines()[-1][:200] if detail.strip() else "no answer"
