"""What Dynamo does while a sequence of calls runs: breaks, recompiles, graphs, guards, and which
graphs each call used.

One set of wrappers serves every release: each is put around a function where the release has it
(`Observer.install`). Those of all releases are `convert_frame._compile` (a frame is compiled),
`OutputGraph.compile_subgraph` and `call_user_compiler` (a graph ends, and goes to the backend), and
`CheckFunctionManager` (its guards); `utils.guard_failures` says why earlier graphs did not fit. Of
logs only that the recompile limit was hit is read, which torch tells nobody else; of exceptions,
the words that tell one sort of skipped frame from another.

The wrappers stay: an observer belongs in a forked child that ends after its answer.
"""

from __future__ import annotations

import contextlib
import logging
import re
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from ..call import failure, history, rungs

#: Reasons that name what Dynamo did instead of what it met; the exception before them says more.
_TERSE = ("generic_jump", "step_unsupported")


class Break:
    """A place where tracing stopped.

    `whole`: the function around it was left to Python altogether.
    """

    def __init__(self, reason: str, location: Tuple[str, int, str], whole: bool) -> None:
        self.reason = reason
        self.location = location
        self.whole = whole


class CodeCompilation:
    """One compilation of a code object during call `call`; `reasons`: why earlier entries did not
    fit, newest first.
    """

    def __init__(self, code: Any, call: int, reasons: List[str]) -> None:
        self.code = code
        self.call = call
        self.reasons = reasons
        self.limited = False
        self.unsupported: Optional[BaseException] = None
        self.skip = ""
        self.guards: List[str] = []


class ObservedGraph:
    """One graph as Dynamo handed it to the backend, read before the backend could change it."""

    def __init__(
        self, output: Any, module: Any, compilation: Optional[CodeCompilation], call: int
    ) -> None:
        self.compilation = compilation
        self.call = call
        examples = _list_examples(output, module)
        self.sizes = _list_size_expressions(examples)
        self.symbols = _find_symbols(examples)


class Observer:
    """Collects; `call` is the number of the call now running, set by whoever runs the sequence."""

    def __init__(self) -> None:
        self.call = 0
        self.breaks: List[Break] = []
        self.compiles: List[CodeCompilation] = []
        self.graphs: List[ObservedGraph] = []
        self.ran: List[Tuple[int, ObservedGraph]] = []
        self.limit_hit = False
        self._open: List[CodeCompilation] = []
        self._seen: Dict[Any, int] = {}

    def install(self) -> Observer:
        """Puts the wrappers in place; each only where this release has the function."""
        from torch._dynamo import convert_frame, exc, guards, output_graph
        from torch.fx.experimental import symbolic_shapes

        _wrap(convert_frame, "_compile", self._watch_compile)
        _wrap(output_graph.OutputGraph, "compile_subgraph", self._watch_graph_end)
        _wrap(output_graph.OutputGraph, "call_user_compiler", self._hand_over)
        _wrap(guards.CheckFunctionManager, "__init__", self._add_guards)
        _wrap(symbolic_shapes.ShapeEnv, "produce_guards_verbose", self._add_shape_guards)
        _wrap(exc.Unsupported, "add_to_stats", self._note_unsupported)
        _wrap(exc.SkipFrame, "__init__", self._note_skip)
        logger = logging.getLogger("torch._dynamo.convert_frame")
        logger.addHandler(_Limit(self))
        if not logger.isEnabledFor(logging.WARNING):
            logger.setLevel(logging.WARNING)
        return self

    # -- what the wrappers do ----------------------------------------------------------------------

    def _watch_compile(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        code = args[0] if args else kwargs["code"]
        made = CodeCompilation(code, self.call, [])
        self._open.append(made)
        self.compiles.append(made)
        try:
            return original(*args, **kwargs)
        except BaseException as error:
            if type(error).__name__ == "Unsupported" and not made.limited:
                self._leave_to_python(made, error)
            raise
        finally:
            made.reasons = self._take_new_reasons(code)
            if "graph break" in made.skip:
                self._leave_to_python(made, made.unsupported)
            self._open.remove(made)

    def _leave_to_python(self, made: CodeCompilation, error: Optional[BaseException]) -> None:
        reason = str(getattr(error, "msg", "") or made.skip)
        location = _find_location(getattr(error, "real_stack", None)) or read_code_place(made.code)
        self.breaks.append(Break(reason, location, True))

    def _take_new_reasons(self, code: Any) -> List[str]:
        known = torch._dynamo.utils.guard_failures.get(code) or []
        start = min(self._seen.get(code, 0), len(known))
        self._seen[code] = len(known)
        return [str(reason) for reason in known[start:]]

    def _watch_graph_end(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if type(value).__name__ == "GraphCompileReason":
                text = str(value.reason)
                if getattr(value, "graph_break", text != "return_value") and text != "return_value":
                    self._note_break(text, value.user_stack)
        return original(*args, **kwargs)

    def _note_break(self, reason: str, stack: Any) -> None:
        made = self._open[-1] if self._open else None
        location = _find_location(stack) or (read_code_place(made.code) if made else ("", 0, ""))
        error = made.unsupported if made else None
        if error is not None and reason.startswith(_TERSE):
            met = _find_location(getattr(error, "real_stack", None))
            if met is None or met == location:
                reason = str(getattr(error, "msg", "") or reason)
        if made is not None:
            made.unsupported = None
        self.breaks.append(Break(reason, location, False))

    def _note_unsupported(
        self, original: Callable[..., Any], error: Any, *args: Any, **kw: Any
    ) -> Any:
        if self._open:
            self._open[-1].unsupported = error
        return original(error, *args, **kw)

    def _note_skip(self, original: Callable[..., Any], error: Any, *args: Any, **kw: Any) -> Any:
        if self._open and args:
            self._open[-1].skip = str(args[0])
        return original(error, *args, **kw)

    def _hand_over(self, original: Callable[..., Any], output: Any, module: Any, *r: Any) -> Any:
        graph = ObservedGraph(output, module, self._open[-1] if self._open else None, self.call)
        self.graphs.append(graph)
        function = original(output, module, *r)

        def run(*args: Any, **kwargs: Any) -> Any:
            self.ran.append((self.call, graph))
            return function(*args, **kwargs)

        with contextlib.suppress(TypeError):
            run.__dict__.update(vars(function))
        return run

    def _add_guards(self, original: Callable[..., Any], manager: Any, *args: Any, **kw: Any) -> Any:
        result = original(manager, *args, **kw)
        made = getattr(manager, "guard_manager", None) or getattr(manager, "check_fn", None)
        if self._open:
            self._open[-1].guards += [str(part) for part in getattr(made, "code_parts", ())]
        return result

    def _add_shape_guards(self, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Since 2.1 relations between sizes are compiled into a check of their own that does not
        name its parts.
        """
        result = original(*args, **kwargs)
        parts = list(result)[:1]
        if self._open and parts:
            self._open[-1].guards += [str(text) for text in getattr(parts[0], "exprs", parts[0])]
        return result

    def hit_limit(self) -> None:
        """Torch said that it will not compile this function any more."""
        self.limit_hit = True
        if self._open:
            self._open[-1].limited = True


def list_call_arguments(call: rungs.RecordedCall) -> List[Tuple[Any, Any]]:
    """The arguments of each earlier call of the history, made up, and of the call itself, last."""
    earlier = [
        (history.materialize(args), history.materialize(kwargs))
        for args, kwargs in call.before.history
    ]
    return [*earlier, (call.args, call.kwargs)]


class _Limit(logging.Handler):
    """Hears torch say `torch._dynamo hit config.recompile_limit (8)`; `cache_size_limit` in old
    releases.
    """

    def __init__(self, observer: Observer) -> None:
        super().__init__(logging.WARNING)
        self.observer = observer

    def emit(self, record: logging.LogRecord) -> None:
        """Called by logging."""
        if "torch._dynamo hit config." in str(record.msg):
            self.observer.hit_limit()


def _wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    original = getattr(owner, name, None)
    if original is None:
        return

    def call_around(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    setattr(owner, name, call_around)


def _find_location(stack: Any) -> Optional[Tuple[str, int, str]]:
    """(file, line, function) of the innermost frame that is not torch's own."""
    root = failure.find_torch_folder()
    frames = [frame for frame in stack or () if not str(frame.filename).startswith(root)]
    if not frames:
        return None
    frame = frames[-1]
    return str(frame.filename), int(frame.lineno or 0), _find_function_name(str(frame.name))


def read_code_place(code: Any) -> Tuple[str, int, str]:
    """(file, line, function) where a code object begins."""
    return str(code.co_filename), int(code.co_firstlineno), _find_function_name(str(code.co_name))


def _find_function_name(name: str) -> str:
    """The user's name of a function; the part after a graph break is a function of its own to
    Dynamo.
    """
    match = re.fullmatch(r"torch_dynamo_resume_in_(.*)_at_\d+|<graph break in (.*)>", name)
    return (match.group(1) or match.group(2)) if match else name


def _list_examples(output: Any, module: Any) -> List[Tuple[Any, Any, Any]]:
    """(node, what it computes for shapes, source of an input); 2.0 keeps only the inputs' shapes,
    beside the graph.
    """
    nodes = list(module.graph.nodes)
    if any("example_value" in node.meta for node in nodes):
        return [
            (
                node,
                node.meta.get("example_value"),
                getattr(node.meta.get("grapharg"), "source", None),
            )
            for node in nodes
        ]
    inputs = [node for node in nodes if node.op == "placeholder"]
    with contextlib.suppress(Exception):  # sources of Dynamo's, which every release changes
        sources = [arg.source for arg in output.graphargs for _ in arg.get_examples()]
        return list(zip(inputs, output.fake_example_inputs(), sources))
    return []


def _list_dims(value: Any) -> List[Any]:
    return list(value.shape) if isinstance(value, torch.Tensor) else [value]


def _list_size_expressions(examples: List[Tuple[Any, Any, Any]]) -> List[str]:
    """Each symbolic size the graph computes with or makes a tensor of, in order of appearance."""
    found: List[str] = []
    for _, value, _ in examples:
        for size in _list_dims(value):
            if isinstance(size, torch.SymInt):
                text = str(size)
                if text not in found and not text.lstrip("-").isdigit():
                    found.append(text)
    return found


def _find_symbols(examples: List[Tuple[Any, Any, Any]]) -> Dict[str, Tuple[str, Optional[int]]]:
    """Symbol → (source expression of the input that has it, dimension or None for a number)."""
    found: Dict[str, Tuple[str, Optional[int]]] = {}
    for node, value, source in examples:
        if node.op != "placeholder":
            continue
        sizes = list(enumerate(value.shape)) if isinstance(value, torch.Tensor) else [(None, value)]
        for dim, size in sizes:
            if isinstance(size, torch.SymInt) and str(size).isidentifier():
                known = found.get(str(size))
                if known is None or known[1] is None and dim is not None:
                    found[str(size)] = (_read_expression(source), dim)
    return found


def _read_expression(source: Any) -> str:
    """Where an input of the graph came from, as guards write it."""
    name = getattr(source, "name", "")
    with contextlib.suppress(Exception):  # as above
        return str(name() if callable(name) else name)
    return ""
