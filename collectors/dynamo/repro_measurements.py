"""What the pictures of a report show, measured on the finished public repro in a process of its
own, never on the recording.

The repro's own `run` is repeated with another `torch.compile`: one that looks at the graph,
measures its prefixes in eager, compiled and float64, or asks Dynamo where it broke. One JSON line
each goes to a file, so what was measured before the process died is there.
"""

from __future__ import annotations

import contextlib
import linecache
import sys
import time
import types
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import torch

from ..call import rungs
from ..call.tolerance import ASSERT_CLOSE, find_equal_elements, widen_values
from ..machine.compile_options import (
    compile_unwatched,
    is_own_call_of_torch,
    select_for_graphs,
)
from ..machine.files import append_lines
from ..machine.public_names import collect_public_names
from ..protocol.candidates import (
    BreakLine,
    CandidateRequest,
    ErrorElement,
    ErrorMap,
    MeasurementLine,
    MeasurementRequest,
)
from ..protocol.graphs import NumberedGraph
from .divergence import PositionReachedError, PrefixCut, PrefixRun, Runnable, resolve_compiler
from .prefix import describe, note_values

#: Cells of the error map along each side, at most.
CELLS = 64
#: Elements of an output that are all shown, and of a larger one the worst.
SMALL, WORST = 8, 3
_ENDED = (Exception, SystemExit)

#: Arguments of a call that are passed by their names.
_Named = Dict[str, Any]


def show(
    text: str, path: str, request: MeasurementRequest, tell: Callable[[MeasurementLine], None]
) -> None:
    """Measures a repro in this process.

    Args:
        text: the repro; it is executed.
        path: the file that it is said to be of.
        request: whether values are compared, how many operations of a graph are measured, and the
            seconds for them; an operation that is begun is finished, however long that takes.
        tell: gets the results as they come, the last operation of each graph first.
    """
    repro = _Repro(text, path)
    if request["values"]:
        results = repro.collect_results()
        picture = build_error_map(*results) if results is not None else None
        if picture is not None:
            tell({"error_map": picture})
    else:
        repro.learn()
    if repro.compiled is None:
        return
    deadline = time.monotonic() + request["seconds"]
    tell({"graph_breaks": repro.find_breaks()})
    for graph in repro.collect_graphs():
        tell({"graph": graph})
        # the last one first: it is what the failure is about
        for position in reversed(_spread(graph, request["positions"])):
            if time.monotonic() > deadline:
                return
            tell({"graph": graph["graph"], "position": position, "begun": True})
            found = repro.measure(graph["graph"], position)
            tell({"graph": graph["graph"], "position": position, **found})


class _Stop(BaseException):
    """Enough is known. Not an Exception, so that the repro lets it through."""


class _Repro:
    """The repro as a module, with its `run` watched: how main calls it, and what comes back."""

    def __init__(self, text: str, path: str) -> None:
        module = types.ModuleType("repro")
        module.__file__ = path
        sys.modules["repro"] = module
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
        exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)
        self.path = path
        self.module = module
        self.run: Callable[..., Any] = module.__dict__["run"]
        #: Arguments of the run that compiles.
        self.compiled: Optional[Tuple[Tuple[Any, ...], _Named]] = None
        #: Whether the run that is going on has called torch.compile.
        self.compiles = False
        self.backward = ".backward(" in text

    # -- as it is ----------------------------------------------------------------------------------

    def collect_results(self) -> Optional[Tuple[List[Any], List[Any], Optional[List[Any]]]]:
        """What eager, compiled and (if the repro asks for it) float64 gave; None where not both
        ran.
        """
        seen: Dict[str, List[Any]] = {}
        genuine = torch.compile

        def note_compilation(model: Any = None, **options: Any) -> Any:
            if is_own_call_of_torch():
                return genuine(model, **options)
            self.compiles = True
            return genuine(model, **options)

        def run(*args: Any, **kwargs: Any) -> Any:
            self.compiles = False
            out = None
            try:
                out = self.run(*args, **kwargs)
            finally:
                if self.compiles:
                    self.compiled = (args, kwargs)
            kind = "compiled" if self.compiles else "exact" if kwargs.get("double") else "eager"
            seen[kind] = [x.detach() if isinstance(x, torch.Tensor) else x for x in out or ()]
            return out

        self.module.__dict__["run"] = run
        torch.compile = note_compilation
        try:
            self.module.__dict__["main"]()
        except _ENDED:
            pass
        finally:
            torch.compile = genuine
            self.module.__dict__["run"] = self.run
        if "eager" in seen and "compiled" in seen:
            return seen["eager"], seen["compiled"], seen.get("exact")
        return None

    def learn(self) -> None:
        """How main calls the run that compiles, without compiling anything."""

        def run(*args: Any, **kwargs: Any) -> Any:
            asked = []

            genuine = torch.compile

            def note_model(model: Any = None, **options: Any) -> Any:
                if is_own_call_of_torch():
                    return genuine(model, **options)
                asked.append(model)
                return model

            torch.compile = note_model
            try:
                return self.run(*args, **kwargs)
            finally:
                torch.compile = genuine
                if asked:
                    self.compiled = (args, kwargs)
                    raise _Stop

        self.module.__dict__["run"] = run
        try:
            self.module.__dict__["main"]()
        except (*_ENDED, _Stop):
            pass
        finally:
            self.module.__dict__["run"] = self.run

    # -- with another torch.compile ----------------------------------------------------------------

    def _compile_again(self, make: Callable[[Any, _Named], Any]) -> Optional[str]:
        """The run that compiles once more, `make(model, options)` in the place of torch.compile;
        the error it ends in.
        """
        assert self.compiled is not None
        args, kwargs = self.compiled
        genuine = torch.compile

        def compile_instead(model: Any = None, **options: Any) -> Any:
            if is_own_call_of_torch():
                return genuine(model, **options)
            return make(model, options)

        compile_instead.__wrapped__ = genuine  # type: ignore[attr-defined]
        torch._dynamo.reset()
        torch.compile = compile_instead
        try:
            self.run(*args, **kwargs)
        except _ENDED as error:
            return type(error).__name__
        finally:
            torch.compile = genuine
        return None

    def _follow(self, received: Callable[[Runnable, int, Any, Any], Optional[Runnable]]) -> None:
        """The run with a backend that shows each graph to `received`, after the repro's own
        compiler; what that returns runs instead of the graph.
        """
        count = [0]

        def make(model: Any, options: _Named) -> Any:
            def compile_graph(module: Any, example_inputs: Any) -> Any:
                return resolve_compiler(model, options)(module, example_inputs)

            def backend(module: Any, example_inputs: Any) -> Any:
                index = count[0]
                count[0] += 1
                note_values(module, example_inputs)
                instead = received(compile_graph, index, module, example_inputs)
                return instead if instead is not None else module.forward

            return compile_unwatched(model, {**select_for_graphs(options), "backend": backend})

        self._compile_again(make)

    def collect_graphs(self) -> List[NumberedGraph]:
        """Every graph that Dynamo hands over, in its order."""
        names = collect_public_names()
        found: List[NumberedGraph] = []

        def receive(compile_graph: Runnable, index: int, module: Any, example_inputs: Any) -> None:
            found.append({"graph": index, **describe(module, names)})

        self._follow(receive)
        return found

    def measure(self, graph: int, position: int) -> MeasurementLine:
        """Errors after one operation, or the exception's class where compiling up to there
        raises.
        """
        cut = PrefixCut(graph, position)
        try:
            self._follow(cut.receive)
        except PositionReachedError as reached:
            prefix = PrefixRun(reached, cut.eager, self.backward)
            return _measure_errors(prefix, cut.compiled, cut.error)
        return {"error": type(cut.error).__name__ if cut.error is not None else "not reached"}

    def find_breaks(self) -> List[BreakLine]:
        """Where Dynamo breaks the graph: lines of the repro, with the reason."""
        found: List[BreakLine] = []

        def make(model: Any, options: _Named) -> Any:
            def explain(*args: Any, **kwargs: Any) -> Any:
                found.extend(self._read_reasons(model, args, kwargs))
                raise _Stop

            return explain

        try:
            self._compile_again(make)
        except _Stop:
            pass
        return found

    def _read_reasons(self, model: Any, args: Tuple[Any, ...], kwargs: _Named) -> List[BreakLine]:
        genuine = torch._dynamo.explain
        try:
            answer = genuine(model)(*args, **kwargs)
            reasons = answer.break_reasons
        except TypeError:  # torch 2.0 takes all at once and gives a tuple
            reasons = genuine(model, *args, **kwargs)[4]
        except Exception:  # the model's own code runs here
            return []
        rows: List[BreakLine] = []
        for reason in reasons:
            stack = [frame for frame in reason.user_stack or () if frame.filename == self.path]
            if stack:
                rows.append({"line": stack[-1].lineno, "reason": str(reason.reason)[:500]})
        return rows


def _measure_errors(
    prefix: PrefixRun, compiled: Any, error: Optional[Exception]
) -> MeasurementLine:
    """Root mean square errors against float64 of the tensor where the compiled one is furthest
    off.
    """
    try:
        eager = prefix.perform(prefix.plain)
    except Exception as raised:  # an operation may be anyone's
        return {"error": type(raised).__name__}
    exact: List[Optional[torch.Tensor]] = []
    with contextlib.suppress(Exception):  # not every program has a float64 form
        exact = prefix.perform_exactly()
    actual: List[Optional[torch.Tensor]] = []
    if compiled is not None:
        try:
            actual = prefix.perform(compiled)
        except Exception as raised:  # as above
            error = raised
    worst: MeasurementLine = {"error": type(error).__name__} if error is not None else {}
    references = exact if len(exact) == len(eager) else eager
    rows: List[MeasurementLine] = []
    for index, reference in enumerate(references):
        off = _compute_error(eager[index], reference)
        far = _compute_error(actual[index], reference) if len(actual) == len(eager) else None
        rows.append({"eager": off, "compiled": far})
    rows = [row for row in rows if row["eager"] is not None]
    if rows:
        worst.update(max(rows, key=lambda row: (row["compiled"] or 0.0, row["eager"] or 0.0)))
    return {**worst, "reference": "float64" if references is exact else "eager"}


def _compute_error(value: Any, reference: Any) -> Optional[float]:
    if not isinstance(value, torch.Tensor) or not isinstance(reference, torch.Tensor):
        return None
    if value.shape != reference.shape:
        return None
    if not value.numel():
        return 0.0
    return float(_compute_absolute_errors(value, reference).square().mean().sqrt())


def _compute_absolute_errors(value: torch.Tensor, reference: torch.Tensor) -> torch.Tensor:
    """How far each element is off; infinities and NaN on both sides are not."""
    value, reference = widen_values(value), widen_values(reference)
    equal = find_equal_elements(value, reference)
    return torch.where(equal, 0.0, (value - reference).abs().double())


def build_error_map(
    eager: List[Any], actual: List[Any], exact: Optional[List[Any]]
) -> Optional[ErrorMap]:
    """Where the worst output is off: the largest absolute error in each cell of the tensor, laid
    out as rows by last dimension.

    Args:
        eager: the outputs in order; what is no tensor is passed over, in the other lists as well.
        actual: those of the compiled run.
        exact: those of a float64 run, which errors are then measured against; None, or a list of
            another length, leaves `eager` for that.

    Returns:
        Errors in float64, of at most `CELLS` by `CELLS` cells. None where no output has elements
        and the same shape on both sides.
    """
    references = exact if exact is not None and len(exact) == len(eager) else eager
    found = _find_worst_output(actual, references)
    if found is None:
        return None
    index, value, off = found
    worst = float(off.max())
    flat = off.reshape(-1, off.shape[-1]) if off.dim() else off.reshape(1, 1)
    cells, step = _pool(flat)
    nearly = torch.isclose(
        widen_values(value),
        widen_values(references[index]),
        rtol=ASSERT_CLOSE.get(value.dtype, (1e-7, 1e-5))[0],
        atol=1e-5,
        equal_nan=True,
    )
    return {
        "output": index,
        "of": len(actual),
        "shape": list(value.shape),
        "step": step,
        "max": worst if worst != float("inf") else None,
        "off": int((~nearly).sum()),
        "elements": value.numel(),
        "reference": "float64" if references is exact else "eager",
        "worst": _list_worst_elements(eager[index], value, off),
        "cells": [
            [None if cell == float("inf") else float("{:.3g}".format(cell)) for cell in row]
            for row in cells.tolist()
        ],
    }


def _find_worst_output(
    actual: List[Any], references: List[Any]
) -> Optional[Tuple[int, torch.Tensor, torch.Tensor]]:
    """The output with the largest absolute error: its index, its values, how far each is off."""
    worst, where = -1.0, None
    for index, (value, reference) in enumerate(zip(actual, references)):
        if not isinstance(value, torch.Tensor) or not isinstance(reference, torch.Tensor):
            continue
        if value.shape != reference.shape or not value.numel():
            continue
        off = torch.nan_to_num(_compute_absolute_errors(value, reference), nan=float("inf"))
        if float(off.max()) > worst:
            worst, where = float(off.max()), (index, value, off)
    return where


def _list_worst_elements(
    eager: object, actual: torch.Tensor, off: torch.Tensor
) -> List[ErrorElement]:
    """All elements of a small output in their order, else the worst ones."""
    if not isinstance(eager, torch.Tensor) or eager.shape != actual.shape or actual.is_complex():
        return []
    chosen = list(range(off.numel()))
    if off.numel() > SMALL:
        worst = off.flatten().topk(WORST)
        chosen = [
            at for at, how_far in zip(worst.indices.tolist(), worst.values.tolist()) if how_far
        ]
    sides = eager.flatten(), actual.flatten()
    found: List[ErrorElement] = []
    for flat in chosen:
        index, rest = [], flat
        for size in reversed(actual.shape):
            index.append(rest % size)
            rest //= size
        before, after = (_round_readably(side[flat].item()) for side in sides)
        found.append({"index": index[::-1], "eager": before, "compiled": after})
    return found


def _round_readably(value: Union[bool, int, float]) -> Union[bool, int, float, str]:
    """A number of six digits that JSON can hold."""
    if not isinstance(value, float):
        return value
    return float("{:.6g}".format(value)) if abs(value) < float("inf") else str(value)


def _pool(flat: torch.Tensor) -> Tuple[torch.Tensor, List[int]]:
    """The largest value of each block, so that no side has more than `CELLS` of them, and the
    blocks' sides.
    """
    step = [-(-side // CELLS) for side in flat.shape]
    rows = [block.amax(0) for block in flat.split(step[0], 0)]
    pooled = torch.stack([block.amax(1) for block in torch.stack(rows).split(step[1], 1)], 1)
    return pooled, step


def _spread(graph: NumberedGraph, count: int) -> List[int]:
    """Positions that can be measured, evenly spaced where there are too many; the last one
    always.
    """
    usable = [index for index, node in enumerate(graph["nodes"]) if node["measurable"]]
    if len(usable) <= count:
        return usable
    return sorted({usable[(i + 1) * len(usable) // count - 1] for i in range(count)})


def run(request: CandidateRequest, path: str, lines: str) -> None:
    """Measures a repro in this process, which is for nothing else: the entry for `candidate`.

    Args:
        request: its `text` is the repro, its `measure` says what is measured.
        path: the file name that the repro has in tracebacks; nothing is written there.
        lines: the file to which results are appended, a JSON object a line.

    Raises:
        Exception: whatever the repro raises when its text is run as a module.
    """
    rungs.quiet_compile_workers()
    with append_lines(lines) as tell:
        show(request["text"], path, request["measure"], tell)
