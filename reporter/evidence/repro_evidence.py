"""The public repro once more, in a fresh process with an empty cache of its own and every debugging
tool switched on.

It runs after the verdict is settled and nothing reads its exit code, so it cannot change one.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from collectors.protocol.candidates import ANSWER_FILE, CandidateEnding, CandidateRequest
from collectors.protocol.evidence import ExplainFacts, InductorFacts, PhaseFacts, ToolNote
from reporter.core.kinds import CRASHES, CandidateOutcome, Kind, Layer, assert_never
from reporter.evidence.generated_kernel import choose_kernel_excerpt, read_kernels
from reporter.evidence.interface import CollectorResult, Excerpt, read_answer, trim
from reporter.evidence.structured_trace import rebuild_trace
from reporter.execution.fresh_process import run_fresh
from reporter.report.sections.base import build_section
from reporter.report.sections.debugging_tools import CollectorRow, EvidenceSection, PublicBreak
from reporter.report.sections.triton import GeneratedKernelsSection
from templates.text import pluralize

TOOLS = ("logs", "trace", "inductor", "phases", "explain")
_MAX_GRAPH = 60
_PRIVATE_WORD = "it holds a word that is also a private name"


@dataclass(frozen=True)
class ReproEvidence:
    """What the tools said of the repro. Without an `excerpt`, `no_excerpt` says why.

    `seconds`: the whole process.

    `trace` is the structured trace, rebuilt by `reporter.evidence.structured_trace`.

    `generated` is what Triton's compiler makes of inductor's kernels (see
    `reporter.kernels.inductor_kernels`).
    """

    collected: tuple[CollectorResult, ...]
    excerpt: Excerpt | None
    no_excerpt: str
    seconds: float
    generated: GeneratedKernelsSection | None = None
    trace: str = ""

    @property
    def vector_isa(self) -> str | None:
        """The instruction set that inductor vectorized for."""
        facts: InductorFacts = self._find_facts("inductor")
        return facts.get("vector_isa") or None

    def list_fallbacks(self) -> Iterator[ReproEvidence]:
        """All of it, then without one, two and all of the parts that may hold a word that is also
        a private name.
        """
        parts = [name for name in ("trace", "excerpt", "generated") if getattr(self, name)]
        for count in range(len(parts) + 1):
            for hidden in itertools.combinations(parts, count):
                yield self._hide(hidden)

    def _hide(self, parts: Collection[str]) -> ReproEvidence:
        """The same without these parts."""
        return replace(
            self,
            trace="" if "trace" in parts else self.trace,
            excerpt=None if "excerpt" in parts else self.excerpt,
            no_excerpt=_PRIVATE_WORD if "excerpt" in parts else self.no_excerpt,
            generated=None if "generated" in parts else self.generated,
        )

    def to_section(self) -> EvidenceSection:
        """The part of report.json: numbers and torch's own words."""
        explained: ExplainFacts = self._find_facts("explain")
        phases: PhaseFacts = self._find_facts("phases")
        return EvidenceSection(
            seconds=self.seconds,
            collectors=tuple(build_section(CollectorRow, item.to_row()) for item in self.collected),
            compile_seconds=phases.get("seconds", {}),
            graphs=explained.get("graphs"),
            operations=tuple(explained.get("operations", ())),
            graph_breaks=tuple(
                PublicBreak(reason=item["public"], count=item["count"])
                for item in explained.get("graph_breaks", ())
            ),
            recompiles=len(explained.get("recompiles", ())),
            vector_isa=self.vector_isa,
            excerpt=self.excerpt.caption if self.excerpt else None,
            no_excerpt=self.no_excerpt,
            triton_kernels=self.generated or msgspec.UNSET,
        )

    def _find_facts(self, name: str) -> Any:
        """What this tool said; empty where it said nothing."""
        return next((item.facts for item in self.collected if item.name == name), {})


@dataclass(frozen=True)
class ShownFailure:
    """What torch's tools are to explain: the verdict's `kind` and `layer`, the operations that it
    blames, and what the failure printed.
    """

    kind: Kind
    layer: Layer
    suspects: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class WatchedRun:
    """A run of a repro's `text` under `python` with the tools on, for at most `budget` seconds.

    `warm` starts it quicker, as `run_fresh` has it. `watched` is what `FreshRuns.run_watched` left
    of the same text, if it did: then nothing runs.
    """

    python: Path
    text: str
    budget: float
    warm_cache: Path | None = None
    tools: Sequence[str] = TOOLS
    watched: Path | None = None

    def write_into(self, folder: Path) -> str:
        """Runs it; says why it was ended, where it was."""
        request: CandidateRequest = {
            "id": 0,
            "text": self.text,
            "timeout": self.budget,
            "tools": list(self.tools),
        }
        ending = run_fresh(self.python, request, self.warm_cache, into=folder)
        is_late = ending.answer.outcome == CandidateOutcome.TIMEOUT
        return f"not done within {self.budget:g} s" if is_late else ""


def collect_evidence(
    run: WatchedRun, failure: ShownFailure, keep: Path | None = None
) -> ReproEvidence:
    """What the tools say in a run of the repro.

    Args:
        run: one that has been watched, else it runs now.
        failure: what the excerpt of the generated code is chosen by.
        keep: a private folder for the files, since logs have paths of this machine in them; None:
            they go away.
    """
    started = time.monotonic()
    late = ""
    with tempfile.TemporaryDirectory(prefix="evidence-") as name:
        folder = run.watched
        if folder is None:
            folder = Path(name).resolve() / "watched"
            late = run.write_into(folder)
        found = folder / "found"
        collected = read_answer(_read(folder, late or "the process died", run.tools), found)
        shown = late or _choose_excerpt(found, failure)
        if keep is not None:
            _keep(found, keep)
        trace = rebuild_trace(found / "trace")
    seconds = round(time.monotonic() - started, 2)
    if isinstance(shown, Excerpt):
        return ReproEvidence(collected, shown, "", seconds, trace=trace)
    return ReproEvidence(collected, None, shown, seconds, trace=trace)


def _read(folder: Path, missing: str, tools: Sequence[str]) -> Mapping[str, ToolNote]:
    """The tools' results by name; where the process wrote none, `missing` says why."""
    try:
        answer: CandidateEnding = json.loads((folder / ANSWER_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # what was written before the program died is there
        return {name: {"skipped": missing} for name in tools}
    return answer["found"]


def _choose_excerpt(folder: Path, failure: ShownFailure) -> Excerpt | str:
    """What of the compiler's own output explains this failure: inductor's kernel, or the graph
    AOTAutograd made.
    """
    backward = failure.kind == Kind.WRONG_GRADIENT
    match failure.layer:
        case Layer.INDUCTOR:
            found = read_kernels(folder, _list_graphs(folder))
            return choose_kernel_excerpt(found, failure.error, failure.suspects, backward)
        case Layer.AOT_AUTOGRAD | Layer.DECOMPOSITION if failure.kind not in CRASHES:
            return _read_graph(folder / "logs" / "aot_graphs.log", backward)
        case (
            Layer.AOT_AUTOGRAD
            | Layer.DECOMPOSITION
            | Layer.DYNAMO
            | Layer.BACKEND
            | Layer.TRITON
            | Layer.EXPORT
            | Layer.AOTI
            | Layer.ONNX
            | Layer.EAGER
            | Layer.NONE
        ):
            return f"a failure in {failure.layer} is explained by its traceback"
    assert_never(failure.layer)


def _list_graphs(folder: Path) -> list[str]:
    """The folders below `folder` that inductor wrote its code for a graph to, in its order."""

    def read_number(path: str) -> int:
        ending = path.rpartition(".")[2]
        return int(ending) if ending.isdigit() else 0

    found = (str(path.parent.relative_to(folder)) for path in folder.rglob("output_code.py"))
    return sorted(found, key=read_number)


def _read_graph(path: Path, backward: bool) -> Excerpt | str:
    """The last graph of the wanted direction in the log of AOTAutograd's graphs."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return "this release does not log the graphs of AOTAutograd"
    pieces = re.split(r"^(?=.*TRACED GRAPH)", text, flags=re.MULTILINE)
    word = "Backward" if backward else "Forward"
    wanted = [piece for piece in pieces if word in piece] or [
        p for p in pieces if "def forward" in p
    ]
    # torch writes the file that it made the class in before `class`, a path of this machine
    text = re.sub(r"^.*?(?=\bclass )", "", wanted[-1] if wanted else "", flags=re.MULTILINE)
    lines = [
        line.rstrip()
        for line in text.splitlines()
        if line.strip() and not line.strip().startswith(("#", "=====", "TRACED GRAPH"))
    ]
    if not lines or len(lines) > _MAX_GRAPH:
        return f"the graph of AOTAutograd has {pluralize(len(lines), 'line')}"
    return Excerpt("The graph that AOTAutograd makes of the repro", "python", "\n".join(lines))


def _keep(found: Path, keep: Path) -> None:
    gone = trim(found)
    if gone:
        (found / "left_out.txt").write_text("\n".join(gone) + "\n")
    shutil.rmtree(keep, ignore_errors=True)
    shutil.copytree(found, keep, symlinks=True)
