"""Puts the recorder around torch.compile the moment the script imports torch — not before, since
import order matters.

A script may set environment variables before its first `import torch`; importing torch on its
behalf would change what it does. So a finder on `sys.meta_path` waits for that import and patches
the finished module.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Optional, SupportsIndex, Tuple, Union

from ..protocol.starting import RecorderSpec
from ..source import parsed_arguments
from .exports import Exports
from .watched_callable import WatchedCallable


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


def install(recorder: Any) -> None:
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


def install_operator_count(recorder: Any, spec: RecorderSpec) -> None:
    """Has the calls of torch's own functions counted, and looked at as `spec` says,
    once torch is imported.
    """

    def begin(_: Any) -> None:
        operators = importlib.import_module(str(__package__) + ".operators")  # it imports torch
        operators.watch_operators(recorder, spec)

    call_when_imported("torch", begin)


def install_sharded_watch() -> None:
    """Has this process take part in what is looked at in another one, once torch is imported."""

    def begin(_: Any) -> None:
        importlib.import_module(str(__package__) + ".operators").watch_sharded()

    call_when_imported("torch", begin)


def call_when_imported(name: str, then: Callable[[Any], None]) -> None:
    """Calls `then` with a module, now or once it is imported."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _AfterImport(name, then))


def _call_reversed(patch: Callable[[Any, Any], None], recorder: Any, module: Any) -> None:
    patch(module, recorder)


def _keep_kernels(torch: ModuleType) -> None:
    from ..trace import custom_operators  # it imports torch, as the program has by now

    custom_operators.keep_kernels(torch.library)


def _patch_compile(torch: Any, recorder: Any) -> None:
    original = torch.compile

    @functools.wraps(original)
    def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        if model is None:
            return lambda function: compile(function, *args, **kwargs)
        backend = _find_other_backend(recorder)
        if backend is not None:
            args, kwargs = (), _with_backend(kwargs, backend)
        recorder.local.compiling = True
        try:
            compiled = original(model, *args, **kwargs)
        except Exception:  # torch.compile may refuse with any exception
            if not callable(model) or not _takes(original, args, kwargs):
                raise
            # the compiler's failure on this function, so it is told at the first call, which can be
            # repeated
            compiled = _make_refusal(original, model, args, kwargs)
        finally:
            recorder.local.compiling = False
        if kwargs.get("disable") or compiled is model:
            return compiled
        return _watch(torch, recorder, model, compiled, kwargs)

    torch.compile = compile


def _find_other_backend(recorder: Any) -> Optional[str]:
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


def _patch_optimize(dynamo: Any, recorder: Any) -> None:
    """torch._dynamo.optimize(backend)(function): the entry point of 2.0, still in use."""
    original = getattr(dynamo, "optimize", None)
    if original is None:
        return

    @functools.wraps(original)
    def optimize(*args: Any, **kwargs: Any) -> Any:
        backend = _find_other_backend(recorder)
        if backend is not None and not getattr(recorder.local, "compiling", False):
            args, kwargs = (), {**kwargs, "backend": backend}
        made = original(*args, **kwargs)
        if getattr(recorder.local, "compiling", False):
            return made
        import torch

        options = {key: kwargs[key] for key in ("dynamic",) if key in kwargs}
        options["backend"] = args[0] if args else kwargs.get("backend", "inductor")
        options["fullgraph"] = bool(kwargs.get("nopython", False))

        def decorate(function: Any) -> Any:
            return _watch(torch, recorder, function, made(function), options)

        return decorate

    dynamo.optimize = optimize


def _watch(torch: Any, recorder: Any, function: Any, compiled: Any, options: Any) -> Any:
    recorder.compiles += 1
    watched = WatchedCallable(function, dict(options))
    if isinstance(compiled, torch.nn.Module):
        # since 2.1 each compiled module has a `forward` of its own; in 2.0 it is the class's method
        inner = compiled.__dict__.get("forward") or compiled.forward

        @functools.wraps(inner)
        def forward(*args: Any, **kwargs: Any) -> Any:
            return recorder.call(watched, inner, args, kwargs)

        compiled.__dict__["forward"] = forward
        context = compiled.__dict__.get("dynamo_ctx")
        if context is not None:
            watch = functools.partial(_watch, torch, recorder)
            compiled.__dict__["dynamo_ctx"] = _WatchedContext(context, watch, options)
        return compiled

    @functools.wraps(compiled)
    def call(*args: Any, **kwargs: Any) -> Any:
        return recorder.call(watched, compiled, args, kwargs)

    return call


class _WatchedContext:
    """What a compiled module compiles other functions with: Lightning does so with the steps of a
    compiled `LightningModule`. A copy, or what is pickled, is the context itself.
    """

    def __init__(
        self, context: Callable[..., object], watch: Callable[..., object], options: object
    ) -> None:
        self.context = context
        self.watch = watch
        self.options = options

    def __call__(self, function: object) -> object:
        return self.watch(function, self.context(function), self.options)

    def __getattr__(self, name: str) -> object:
        return getattr(self.__dict__["context"], name)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Union[str, Tuple[object, ...]]:
        return self.context.__reduce_ex__(protocol)
