"""The search where rounding noise may hide a bug: each block of the graph alone, judged against
float64 on its own inputs.

In a deep half-precision model the noise of the layers before is larger than the fault of one; fed
directly, a faulty block stands out by orders of magnitude. Nothing found means that the excuse
stands.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from anonymizer.graph import recipes
from anonymizer.graph.ir import Graph
from anonymizer.graph.ir_json import UNREADABLE, read_graph
from anonymizer.graph.repro import ReproAssertion
from reporter.core.candidate import Candidate, make_matcher
from reporter.core.kinds import BACKEND_OF, Backend, Differentiation, Kind, Layer
from reporter.core.progress import Progress
from reporter.core.signature import Signature
from reporter.diagnose.rungs import CASTS_SETTING
from reporter.execution.worker_pool import WorkerPool
from reporter.reduce.candidate_questions import Questions
from reporter.reduce.pieces import list_larger_pieces
from reporter.reduce.scheduler import Scheduler
from reporter.report.captured_call import CapturedCall
from templates.text import pluralize

_EMULATED = (CASTS_SETTING, "True")


def look_at_blocks(captured: CapturedCall, pool: WorkerPool, progress: Progress) -> CapturedCall:
    """The recording with a bug's verdict if one block shows one by itself, else unchanged.

    Args:
        captured: a call with an assertion; without one nothing is looked at.
        pool: the workers that the blocks run in.
        progress: is told that the stage begins.
    """
    if captured.material.assertion is None:
        return captured
    progress.begin_stage("blocks", "the blocks of the graph one by one, each against float64")
    backward = captured.material.assertion.backward != Differentiation.NONE
    kinds = (Kind.WRONG_GRADIENT, Kind.WRONG_RESULT) if backward else (Kind.WRONG_RESULT,)
    for kind in kinds:
        is_gradient = kind == Kind.WRONG_GRADIENT
        assertion = replace(
            captured.material.assertion,
            kind=kind,
            backward=Differentiation.RANDN if is_gradient else Differentiation.NONE,
            double=True,
        )
        found = _search(captured, pool, assertion, kind)
        if found is not None:
            return _convict(captured, pool, found, kind)
    return captured


def _search(
    captured: CapturedCall, pool: WorkerPool, assertion: ReproAssertion, kind: Kind
) -> Candidate | None:
    ask = Questions(Scheduler(pool, make_matcher(Signature(kind))), lambda _: None)
    for graph_json, way in captured.material.captures:
        if "unsupported" in graph_json or way.get("replay"):
            continue
        try:
            graph = read_graph(graph_json, recipes.make_recipe_chooser("plain"))
        except UNREADABLE:
            continue
        for backend in (Backend.AOT_EAGER, None):
            arguments = (("backend", repr(backend.value)),) if backend else assertion.arguments
            found = ask.find_first(
                _make_strict(candidate, backend is None)
                for part in list_larger_pieces(graph)
                for candidate in [Candidate(part, replace(assertion, arguments=arguments))]
                if backend is not None or not candidate.casts
            )
            if found is not None:
                return found
    return None


def _make_strict(candidate: Candidate, fused: bool) -> Candidate:
    """Fused half-precision code skips roundings legitimately: only what is wrong without that
    freedom counts.

    Where the program itself casts to half precision its float64 run rounds there too, which would
    make the skipping look wrong: such blocks are not judged at all.
    """
    if not (fused and candidate.coarse):
        return candidate
    return candidate.with_assertion(
        config=tuple(dict((*candidate.assertion.config, _EMULATED)).items())
    )


def _convict(
    captured: CapturedCall, pool: WorkerPool, found: Candidate, kind: Kind
) -> CapturedCall:
    """The verdict, with the layer that the block's own runs under each backend show."""
    shows = make_matcher(Signature(kind))
    layer = Layer.INDUCTOR
    for lower, backend in BACKEND_OF.items():
        if backend == Backend.INDUCTOR:
            break
        if shows(pool.submit(found.render(), overrides={"backend": backend.value}).result()):
            layer = lower
            break
    graph = found.content
    assert isinstance(graph, Graph)
    what = "gradients" if kind == Kind.WRONG_GRADIENT else "values"
    summary = (
        f"The compiled program returns wrong {what}: over the whole program the error hides in"
        f" rounding noise, but a block of {pluralize(graph.statements, 'operation')}"
        " shows it alone, far from float64 where eager is not."
    )
    return replace(
        captured,
        verdict=replace(
            captured.verdict,
            kind=kind,
            layer=layer,
            is_bug=True,
            summary=summary,
            signature=Signature(kind, layer),
        ),
        material=structs.replace(captured.material, assertion=found.assertion),
    )
