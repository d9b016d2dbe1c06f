"""Puts the recorder around torch.compile the moment the script imports torch — not before, since
import order matters.

A script may set environment variables before its first `import torch`; importing torch on its
behalf would change what it does. So a finder on `sys.meta_path` waits for that import and patches
the finished module.
"""

from __future__ import annotations

import copy
import functools
import importlib
import importlib.machinery
import importlib.util
import inspect
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Optional, SupportsIndex, Tuple, Type, Union, cast

from ..protocol.starting import RecorderSpec
from ..source import parsed_arguments
from .exports import Exports
from .watched_callable import WatchedCallable
from .watcher import CallHandler, find_calling_module

#: Modules of torch that compile what the program gives them in its name.
_ENTRY_POINTS = ("torch.nn.modules.module", "torch.compiler")


class _AfterImport:
    """Meta-path finder which calls `then(module)` once, right after the named module was
    executed.
    """

    def __init__(self, name: str, then: Callable[[Any], None]) -> None:
        self.name = name
        self.then = then
        self.searching = False

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name != self.name or self.searching:
            return None
        self.searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.searching = False
        if spec is None or spec.loader is None:
            return spec
        loader: Any = spec.loader
        original = loader.exec_module

        def exec_module(module: Any) -> None:
            original(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            self.then(module)

        loader.exec_module = exec_module
        return spec


def install(recorder: CallHandler) -> None:
    """Arranges for torch.compile, torch._dynamo.optimize, torch.export, AOTInductor and
    torch.onnx to be watched, now or once they are imported, and for the kernels of custom operators
    to be kept.
    """
    exports = Exports(recorder)
    patches: Tuple[Tuple[str, Callable[[Any, Any], None]], ...] = (
        ("torch._dynamo", _patch_optimize),
        ("torch._inductor", lambda module, _: exports.patch_inductor(module)),
        ("torch.export", lambda module, _: exports.patch_export(module)),
        ("torch._export", lambda module, _: exports.patch_libraries(module)),
        ("torch.onnx", lambda module, _: exports.patch_onnx(module)),
        ("torch", lambda module, _: _keep_kernels(module)),
        ("torch", _patch_compile),
    )
    for name, patch in patches:
        call_when_imported(name, functools.partial(_call_reversed, patch, recorder))


def keep_parsed_arguments() -> None:
    """Has what argparse makes of the command line leave its plain values, once it is imported."""
    call_when_imported("argparse", parsed_arguments.patch)


def install_operator_count(recorder: CallHandler, spec: RecorderSpec) -> None:
    """Has the calls of torch's own functions counted, and looked at as `spec` says,
    once torch is imported.
    """

    def begin(_: Any) -> None:
        operators = importlib.import_module(str(__package__) + ".operators")  # it imports torch
        operators.watch_operators(recorder, spec)

    call_when_imported("torch", begin)


def install_part(spec: RecorderSpec) -> None:
    """Has this process take part in what is looked at in another one, once torch is imported."""

    def begin(_: Any) -> None:
        importlib.import_module(str(__package__) + ".operators").take_part(spec)

    call_when_imported("torch", begin)


def call_when_imported(name: str, then: Callable[[Any], None]) -> None:
    """Calls `then` with a module, now or once it is imported."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _AfterImport(name, then))


def _call_reversed(patch: Callable[[Any, Any], None], recorder: CallHandler, module: Any) -> None:
    patch(module, recorder)


def _keep_kernels(torch: ModuleType) -> None:
    from ..trace import custom_operators  # it imports torch, as the program has by now

    custom_operators.keep_kernels(torch.library)


def _patch_compile(torch: Any, recorder: CallHandler) -> None:
    original = torch.compile

    @functools.wraps(original)
    def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        if _is_compiled_by_torch():
            return original(model, *args, **kwargs)
        if model is None:
            return lambda function: compile(function, *args, **kwargs)
        backend = _find_other_backend(recorder)
        if backend is not None:
            args, kwargs = (), _with_backend(kwargs, backend)
        try:
            compiled = original(model, *args, **kwargs)
        except Exception:  # torch.compile may refuse with any exception
            if not callable(model) or not _takes(original, args, kwargs):
                raise
            # the compiler's failure on this function, so it is told at the first call, which can be
            # repeated
            compiled = _make_refusal(original, model, args, kwargs)
        if kwargs.get("disable") or compiled is model:
            return compiled
        return _watch(recorder, model, compiled, kwargs)

    torch.compile = compile


def _is_compiled_by_torch() -> bool:
    """Whether torch itself compiles something: what `torch.cond` and `flex_attention` run outside
    of compiled code is eager to the program.
    """
    name = find_calling_module(2)
    return name.split(".")[0] == "torch" and name not in _ENTRY_POINTS


def _find_other_backend(recorder: CallHandler) -> Optional[str]:
    """What is compiled with in place of what the script says; what watches a block of a program
    never names another one.
    """
    found: Optional[str] = getattr(recorder, "spec", {}).get("backend")
    return found


def _with_backend(kwargs: Dict[str, Any], backend: str) -> Dict[str, Any]:
    """The arguments of torch.compile for another backend, which may not know modes and options."""
    taken = ("dynamic", "fullgraph", "disable")
    return {**{name: value for name, value in kwargs.items() if name in taken}, "backend": backend}


def _takes(original: Callable[..., Any], args: Any, kwargs: Any) -> bool:
    """Whether torch.compile takes these options with a function that gives it no trouble."""
    try:
        original(lambda: None, *args, **kwargs)
    except Exception:  # torch.compile may refuse with any exception
        return False
    return True


def _make_refusal(
    original: Callable[..., Any], model: Any, args: Any, kwargs: Any
) -> Callable[..., Any]:
    """A callable that fails as torch.compile did."""

    def call(*given: Any, **named: Any) -> Any:
        return original(model, *args, **kwargs)(*given, **named)

    return call


def _patch_optimize(dynamo: Any, recorder: CallHandler) -> None:
    """torch._dynamo.optimize(backend)(function): the entry point of 2.0, still in use."""
    original = getattr(dynamo, "optimize", None)
    if original is None:
        return

    @functools.wraps(original)
    def optimize(*args: Any, **kwargs: Any) -> Any:
        if _is_compiled_by_torch():
            return original(*args, **kwargs)
        backend = _find_other_backend(recorder)
        if backend is not None:
            args, kwargs = (), {**kwargs, "backend": backend}
        options = {key: kwargs[key] for key in ("dynamic",) if key in kwargs}
        options["backend"] = args[0] if args else kwargs.get("backend", "inductor")
        options["fullgraph"] = bool(kwargs.get("nopython", False))
        return _watch_context(recorder, original(*args, **kwargs), options)

    dynamo.optimize = optimize


def _watch(recorder: CallHandler, function: Any, compiled: Any, options: Any) -> Any:
    """What torch has compiled, with its calls watched."""
    recorder.compiles += 1
    watched = WatchedCallable(function, dict(options))
    context = vars(compiled).get("dynamo_ctx") if hasattr(compiled, "__dict__") else None
    if context is None or not isinstance(compiled, sys.modules["torch"].nn.Module):
        return _watch_calls(recorder, watched, compiled)
    compiled.__dict__["dynamo_ctx"] = _watch_context(recorder, context, options, watched)
    # since 2.1 each compiled module has a `forward` of its own; in 2.0 its class has one, which
    # asks the context at each call
    if "forward" in compiled.__dict__:
        inner = compiled.__dict__["forward"]
        compiled.__dict__["forward"] = _watch_calls(recorder, watched, inner)
    return compiled


def _watch_calls(
    recorder: CallHandler, watched: WatchedCallable, compiled: Callable[..., object]
) -> Callable[..., object]:
    @functools.wraps(compiled)
    def call(*args: object, **kwargs: object) -> object:
        return recorder.call(watched, compiled, args, kwargs)

    if hasattr(call, "_torchdynamo_wrapper_id"):
        # `innermost_fn` takes only a function with its own number for one that wraps another, from
        # 2.13 on (torch/_dynamo/eval_frame.py)
        call._torchdynamo_wrapper_id = id(call)
    return call


def _watch_context(
    recorder: CallHandler, context: Any, options: Any, watched: Optional[WatchedCallable] = None
) -> _WatchedContext:
    """A context that watches what it compiles.

    Args:
        watched: stands for the module that the context was made for.
    """
    kind: type = type(context)
    return _derive_context(kind)(context, recorder, options, watched)


@functools.cache
def _derive_context(base: type) -> Type[_WatchedContext]:
    """The class for contexts of one kind, under the name of that."""
    own = {"__module__": base.__module__, "__doc__": base.__doc__}
    return cast(Type[_WatchedContext], type(base.__name__, (_WatchedContext,), own))


class _WatchedContext:
    """What a compiled module compiles other functions with, Lightning does so with the steps of a
    compiled `LightningModule`, and what `torch._dynamo.optimize` returns.

    A deep copy watches as well: a copy of a compiled module compiles the copied module with it.
    What is pickled is the context itself.
    """

    def __init__(
        self,
        context: Any,
        recorder: CallHandler,
        options: Dict[str, object],
        watched: Optional[WatchedCallable],
    ) -> None:
        self.__dict__.update(context=context, recorder=recorder, options=options, watched=watched)

    def __call__(self, function: object) -> object:
        compiled = self.context(function)
        if compiled is function:
            return compiled
        is_module = isinstance(compiled, sys.modules["torch"].nn.Module)
        module = None if is_module else _find_module(function)
        if module is None:
            return _watch(self.recorder, function, compiled, self.options)
        if self.watched is None or self.watched.function is not module:
            self.recorder.compiles += 1
            self.__dict__["watched"] = WatchedCallable(module, dict(self.options))
        return _watch_calls(self.recorder, self.watched, compiled)

    def __enter__(self) -> object:
        return self.context.__enter__()

    def __exit__(self, *raised: object) -> Optional[bool]:
        return cast(Optional[bool], self.context.__exit__(*raised))

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # torch asks for the kind of a context by `isinstance`
        return type(self.context)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["context"], name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.context, name, value)

    def __deepcopy__(self, memo: Dict[int, object]) -> _WatchedContext:
        return _watch_context(self.recorder, copy.deepcopy(self.context, memo), self.options)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Union[str, Tuple[object, ...]]:
        return cast(Union[str, Tuple[object, ...]], self.context.__reduce_ex__(protocol))


def _find_module(function: Any) -> object:
    """The module whose calls a compiled module has compiled: it gives its context what calls the
    module (`OptimizedModule` in torch/_dynamo/eval_frame.py, 2.0 to 2.15). None for anything else.
    """
    function = inspect.unwrap(function)
    module = getattr(function, "__self__", function)
    if not isinstance(module, sys.modules["torch"].nn.Module):
        return None
    return module if function in (module, module.__call__, module.forward) else None
