"""Puts the recorder around `torch.export`, AOTInductor and the exporter to ONNX: exporting is
watched like a call, and so is every call of what came of it.

Of each exported program it is kept from which module it was made, with which arguments and by which
steps, so that what it computes can be held against the module. Programs that were loaded from a
file of another run have no module here and are left alone.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import importlib
import inspect
import os
import sys
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..protocol.words import ONNX_ARGUMENTS, ExportStep
from .watched_callable import WatchedCallable, note_buffers
from .watcher import CallHandler, find_calling_module

_Function = Callable[..., Any]
#: Notes what comes of a call that is made: given are what is known of its subject, the arguments by
#: name, and what makes the call.
_Noting = Callable[["ExportedModule", Dict[str, Any], _Function], object]
#: Of so many files it is known what they hold: a module is kept for each, and its arguments.
_MOST_PATHS = 16


class ExportedModule(NamedTuple):
    """A module that was exported, and how; `options` are as `call.exporting` takes them.

    `changes_state` says whether a call writes to the module's buffers. What has buffers of its own
    then starts from those that the module had (`start`, as `note_buffers` has it). `loses_writes`
    says that the module assigns to one, and that what was exported writes to none.
    """

    function: Any
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]
    options: Dict[str, Any]
    changes_state: bool = False
    start: Optional[List[Tuple[int, int]]] = None
    loses_writes: bool = False

    def with_own_buffers(self) -> ExportedModule:
        """The same with buffers of its own from now on."""
        if not self.changes_state or self.start is not None:
            return self
        return self._replace(start=note_buffers(self.function))

    def add_step(self, step: ExportStep, **options: Any) -> ExportedModule:
        """The same module, one step further."""
        steps = [*self.options["steps"], step]
        return self._replace(options={**self.options, "steps": steps, **options})


class Exports:
    """The exported programs of one process, for one recorder."""

    def __init__(self, recorder: CallHandler) -> None:
        self.recorder = recorder
        self._programs: weakref.WeakKeyDictionary[Any, ExportedModule] = weakref.WeakKeyDictionary()
        #: What stands for the calls of an object; a copy of that has none.
        self._callables: weakref.WeakKeyDictionary[object, WatchedCallable]
        self._callables = weakref.WeakKeyDictionary()
        self._paths: Dict[str, ExportedModule] = {}
        self._buffers: weakref.WeakKeyDictionary[object, ExportedModule]
        self._buffers = weakref.WeakKeyDictionary()

    def patch_export(self, export: Any) -> None:
        """Patches the module torch.export."""
        export.export = self._wrap_export(export.export)
        if hasattr(export, "draft_export"):
            export.draft_export = self._wrap_export(export.draft_export, ["draft"])
        for name in ("save", "load", "unflatten"):
            original = getattr(export, name, None)
            if original is not None:
                setattr(export, name, getattr(self, "_wrap_" + name)(original))
        program = getattr(export, "ExportedProgram", None)
        if program is not None:
            program.module = self._wrap_module(program.module)
            if hasattr(program, "run_decompositions"):
                program.run_decompositions = self._wrap_run_decompositions(
                    program.run_decompositions
                )

    def patch_inductor(self, inductor: Any) -> None:
        """Patches the module torch._inductor; releases before 2.6 have no packages there."""
        if hasattr(inductor, "aoti_compile_and_package"):
            inductor.aoti_compile_and_package = self._wrap_package(
                inductor.aoti_compile_and_package
            )
            inductor.aoti_load_package = self._wrap_load_package(inductor.aoti_load_package)
        if hasattr(inductor, "aot_compile"):
            inductor.aot_compile = self._wrap_library(
                inductor.aot_compile, self._find_exported_module
            )

    def patch_libraries(self, export: Any) -> None:
        """Patches the module torch._export: AOTInductor without a package, by the names that it had
        first. Such a program is held against what the functions of today make of it.
        """
        if hasattr(export, "aot_load"):
            export.aot_compile = self._wrap_library(export.aot_compile, _find_source_of_library)
            export.aot_load = self._wrap_load_library(export.aot_load)

    def patch_onnx(self, onnx: Any) -> None:
        """Patches the module torch.onnx; its exporter by way of TorchScript is left alone."""
        if "dynamo" in inspect.signature(onnx.export).parameters:
            onnx.export = self._wrap_onnx_export(onnx.export)

    def _wrap_export(self, original: _Function, steps: Sequence[ExportStep] = ()) -> _Function:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def export(*given: Any, **named: Any) -> Any:
            try:
                values = dict(signature.bind(*given, **named).arguments)
                module, args = values.pop("mod"), values.pop("args")
                kwargs = dict(values.pop("kwargs", None) or {})
            except (TypeError, KeyError, ValueError):
                return original(*given, **named)
            if not isinstance(args, tuple) or _is_called_by_torch():
                return original(*given, **named)
            options = {"compiler": "export", "steps": [*steps], **values}
            exported = ExportedModule(module, args, kwargs, options)
            held = _count_fake_tensors(module)
            program = self._watch_making(exported, lambda: original(*given, **named))
            if _count_fake_tensors(module) > held:
                self.recorder.note_leak()
            exported = _note_writes(exported, program)
            self._programs[program] = exported
            return program

        return export

    def _watch_making(self, exported: ExportedModule, make: Callable[[], Any]) -> Any:
        """Makes the next form of a program under the recorder's eyes."""
        watched = WatchedCallable(exported.function, exported.options)
        watched.is_export = True
        self.recorder.compiles += 1
        return self.recorder.call(watched, lambda *_, **__: make(), exported.args, exported.kwargs)

    def _wrap(
        self,
        original: _Function,
        find: Callable[[object], Optional[ExportedModule]],
        make: _Noting,
    ) -> _Function:
        """A function of torch that takes an exported program, or where one lies, as its first
        parameter, by position or by name.

        Args:
            find: what is known of that; where it is nothing, or where torch itself calls, the
                function does what it always does.
            make: calls the function, which is handed over, and notes what comes of it. It is given
                what was found and the arguments, by name.
        """
        signature = inspect.signature(original)
        subject = next(iter(signature.parameters))

        @functools.wraps(original)
        def wrapped(*given: object, **named: object) -> object:
            exported, values = None, {}
            with contextlib.suppress(TypeError, KeyError):  # torch says what it misses
                values = dict(signature.bind(*given, **named).arguments)
                exported = find(values[subject])
            if exported is None or _is_called_by_torch():
                return original(*given, **named)
            return make(exported, values, lambda: original(*given, **named))

        return wrapped

    def _wrap_run_decompositions(self, original: _Function) -> _Function:
        def decompose(exported: ExportedModule, values: Dict[str, Any], make: _Function) -> object:
            after = exported.add_step("decompose")
            made = self._watch_making(after, make)
            self._programs[made] = after
            self._note_added_outputs(values["self"], made)
            return made

        return self._wrap(original, self._find_exported, decompose)

    def _note_added_outputs(self, before: Any, after: Any) -> None:
        from ..call import exporting  # it imports torch, as the program has by now

        with contextlib.suppress(AttributeError):  # first signatures had no specs
            added = exporting.list_added_outputs(before, after)
            self.recorder.note_added_outputs(len(added))
            if getattr(self.recorder, "spec", {}).get("without_added_outputs"):
                exporting.remove_outputs(after, added)

    def _wrap_save(self, original: _Function) -> _Function:
        def save(exported: ExportedModule, values: Dict[str, object], make: _Function) -> object:
            after = exported.add_step("save")
            done = self._watch_making(after, make)
            self._note_file(values["f"], after.with_own_buffers())
            return done

        return self._wrap(original, self._find_exported, save)

    def _wrap_load(self, original: _Function) -> _Function:
        def load(exported: ExportedModule, _: object, make: _Function) -> object:
            program = self._watch_making(exported, make)
            self._programs[program] = exported
            return program

        return self._wrap(original, self._find_file, load)

    def _wrap_unflatten(self, original: _Function) -> _Function:
        def unflatten(exported: ExportedModule, _: object, make: _Function) -> object:
            after = exported.add_step("unflatten")
            made = self._watch_making(after, make)
            return self._watch_calls(made, _note_own_buffers(after, made))

        return self._wrap(original, self._find_exported, unflatten)

    def _wrap_module(self, original: _Function) -> _Function:
        def module(exported: ExportedModule, _: object, make: _Function) -> object:
            made = make()
            exported = note_shared_parameters(exported, made)
            return self._watch_calls(made, _note_own_buffers(exported, made))

        return self._wrap(original, self._find_exported, module)

    def _wrap_package(self, original: _Function) -> _Function:
        def package(exported: ExportedModule, values: Dict[str, object], make: _Function) -> object:
            configs = values.get("inductor_configs")
            after = exported.add_step("package", compiler="aoti", inductor_configs=configs)
            path = self._watch_making(after, make)
            self._note_file(path, after.with_own_buffers())
            return path

        return self._wrap(original, self._find_exported, package)

    def _wrap_load_package(self, original: _Function) -> _Function:
        def load_package(exported: ExportedModule, _: object, make: _Function) -> object:
            package = self._watch_making(exported, make)
            return self._watch_calls(package, exported)

        return self._wrap(original, self._find_file, load_package)

    def _wrap_library(
        self, original: _Function, find: Callable[[Dict[str, Any]], Optional[ExportedModule]]
    ) -> _Function:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def aot_compile(*given: Any, **named: Any) -> Any:
            exported = None
            with contextlib.suppress(TypeError, KeyError, AttributeError):
                exported = find(dict(signature.bind(*given, **named).arguments))
            inductor = importlib.import_module("torch._inductor")
            can_repeat = hasattr(inductor, "aoti_compile_and_package")
            if exported is None or not can_repeat or _is_called_by_torch():
                return original(*given, **named)
            path = self._watch_making(exported, lambda: original(*given, **named))
            if isinstance(path, str):
                self._note_file(path, exported.with_own_buffers())
            return path

        return aot_compile

    def _find_exported_module(self, values: Dict[str, Any]) -> Optional[ExportedModule]:
        """What the module was exported from that `torch._inductor.aot_compile` is given."""
        watched = self._callables.get(values["gm"])
        if watched is None or watched.example is None:
            return None
        args, kwargs = watched.example
        changes = _has_writes(values["gm"].graph)
        exported = ExportedModule(watched.function, args, kwargs, dict(watched.options), changes)
        return exported.add_step("package", compiler="aoti", inductor_configs=values.get("options"))

    def _wrap_load_library(self, original: _Function) -> _Function:
        def load_library(exported: ExportedModule, _: object, make: _Function) -> object:
            made = make()
            watched, recorder = self._make_watched(exported), self.recorder

            @functools.wraps(made)
            def call(*args: object, **kwargs: object) -> object:
                return recorder.call(watched, made, args, kwargs)

            return call

        return self._wrap(original, self._find_file, load_library)

    def _wrap_onnx_export(self, original: _Function) -> _Function:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def export(*given: Any, **named: Any) -> Any:
            exported = None
            with contextlib.suppress(TypeError, KeyError, ValueError):
                bound = signature.bind(*given, **named)
                bound.apply_defaults()
                exported = self._find_exported_to_onnx(dict(bound.arguments))
            if exported is None or _is_called_by_torch():
                return original(*given, **named)
            made = self._watch_making(exported, lambda: original(*given, **named))
            return made if made is None else self._watch_calls(made, exported, is_export=True)

        return export

    def _find_exported_to_onnx(self, values: Dict[str, Any]) -> Optional[ExportedModule]:
        """What a model of ONNX is exported from; None for what TorchScript exports."""
        if not values["dynamo"]:
            return None
        torch = sys.modules["torch"]
        model, args = values["model"], values["args"]
        kwargs = dict(values.get("kwargs") or {})
        options = {name: values[name] for name in ONNX_ARGUMENTS if values.get(name) is not None}
        known = self._find_exported(model)
        if known is not None:
            options.pop("dynamic_shapes", None)
            return known.add_step("onnx", compiler="onnx", **options)
        if not isinstance(model, torch.nn.Module) or isinstance(model, torch.jit.ScriptModule):
            return None
        args = args if isinstance(args, tuple) else (args,)
        if args and isinstance(args[-1], dict) and not kwargs:  # torch takes them so, too
            args, kwargs = args[:-1], dict(args[-1])
        options = {"compiler": "onnx", "steps": ["onnx"], **options}
        return ExportedModule(model, args, kwargs, options)

    def _note_file(self, file: object, exported: ExportedModule) -> None:
        """Notes what lies in a file: a path, of which the latest are known, or a buffer as long as
        there is one.
        """
        if isinstance(file, (str, os.PathLike)):
            path = os.path.abspath(os.fspath(file))
            self._paths.pop(path, None)
            self._paths[path] = exported
            for oldest in list(self._paths)[:-_MOST_PATHS]:
                del self._paths[oldest]
        else:
            with contextlib.suppress(TypeError):  # it takes no weak references
                self._buffers[file] = exported

    def _find_file(self, file: object) -> Optional[ExportedModule]:
        if isinstance(file, (str, os.PathLike)):
            return self._paths.get(os.path.abspath(os.fspath(file)))
        try:
            return self._buffers.get(file)
        except TypeError:  # as above
            return None

    def _find_exported(self, program: Any) -> Optional[ExportedModule]:
        try:
            return self._programs.get(program)
        except TypeError:  # not a program at all; torch says so
            return None

    def _make_watched(self, exported: ExportedModule) -> WatchedCallable:
        """What stands for the calls of one thing that was made of a module."""
        watched = WatchedCallable(exported.function, exported.options)
        watched.example = (exported.args, exported.kwargs)
        watched.start = exported.start
        return watched

    def _watch_calls(self, made: Any, exported: ExportedModule, is_export: bool = False) -> Any:
        """The same object, whose calls are watched; a copy of it is not.

        With `is_export` a call is judged by another one, of a program that is made anew.
        """
        watched = self._make_watched(exported)
        watched.is_export = is_export
        recorder, callables, base = self.recorder, self._callables, type(made)
        is_compiling = getattr(sys.modules["torch"].compiler, "is_compiling", bool)  # not in 2.1

        def call(this: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or callables.get(this) is not watched:
                return base.__call__(this, *args, **kwargs)
            return recorder.call(watched, functools.partial(base.__call__, this), args, kwargs)

        names = {"__call__": call, "__module__": base.__module__, "__doc__": base.__doc__}
        names["__qualname__"] = base.__qualname__  # `GraphModule.__new__` reads it
        if hasattr(base, "_wrapped_call"):
            # `GraphModule.recompile` takes the `__call__` of the class for what it is to wrap, if
            # the class has nothing that does; the graph may be another one by then
            names["_wrapped_call"] = base._wrapped_call
        with contextlib.suppress(TypeError, AttributeError):
            _hide_from_dynamo(call, type(recorder).call)
            made.__class__ = type(base.__name__, (base,), names)
            callables[made] = watched
        return made


def _find_source_of_library(values: Dict[str, Any]) -> Optional[ExportedModule]:
    """Where `torch._export.aot_compile` has its module from; None for what is no module, which
    torch.export does not take.
    """
    module, args = values["f"], values["args"]
    if not isinstance(module, sys.modules["torch"].nn.Module) or not isinstance(args, tuple):
        return None
    options: Dict[str, Any] = {"compiler": "aoti", "steps": ["package"]}
    options["inductor_configs"] = values.get("options")
    if values.get("dynamic_shapes") is not None:
        options["dynamic_shapes"] = values["dynamic_shapes"]
    # whether it writes to its buffers is not known
    is_stateful = bool(note_buffers(module))
    return ExportedModule(module, args, dict(values.get("kwargs") or {}), options, is_stateful)


def _hide_from_dynamo(*functions: _Function) -> None:
    """Has Dynamo leave these functions alone, but take up what they call."""
    dynamo = importlib.import_module("torch._dynamo.eval_frame")
    for function in functions:
        dynamo.skip_code(function.__code__)


def _is_called_by_torch() -> bool:
    """Whether the function that asks was called by torch itself."""
    return find_calling_module(2).split(".")[0] == "torch"


def _may_change_state(program: Any) -> bool:
    """Whether a call of an exported program may write to its buffers."""
    signature = getattr(program, "graph_signature", None)
    if getattr(signature, "buffers_to_mutate", None):
        return True
    return bool(getattr(signature, "buffers", None)) and _has_writes(program.graph)


def _count_fake_tensors(module: object) -> int:
    """How many tensors of a module have a shape alone, and no values
    (`torch/_subclasses/fake_tensor.py`).
    """
    torch = sys.modules["torch"]
    if not isinstance(module, torch.nn.Module):
        return 0
    fake = torch._subclasses.FakeTensor
    held = (
        value
        for each in module.modules()
        for value in (*each._parameters.values(), *each._buffers.values(), *vars(each).values())
    )
    return sum(isinstance(value, fake) for value in held)


def _note_writes(exported: ExportedModule, program: Any) -> ExportedModule:
    """The same with what is known of writes to buffers, by the program or by the module alone."""
    if _may_change_state(program):
        return exported._replace(changes_state=True)
    loses = _assigns_buffers(exported.function)
    return exported._replace(changes_state=loses, loses_writes=loses)


def _assigns_buffers(module: Any) -> bool:
    """Whether the code of a module, or of one in it, assigns to a name that is one of its buffers:
    such an assignment writes to no tensor, so that it is in no graph by itself.
    """
    return any(
        step.opname == "STORE_ATTR" and step.argval in each._buffers
        for each in module.modules()
        if each._buffers
        for step in _list_instructions(type(each).forward)
    )


def _list_instructions(function: Any) -> List[dis.Instruction]:
    """Those of a function of Python; none of anything else that can be called."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return list(dis.get_instructions(code)) if code is not None else []


def _has_writes(graph: Any) -> bool:
    """Whether a graph that is not made functional has an operator that writes to what it is given;
    the schema of `aten::batch_norm` does not say so.
    """
    schemas = [getattr(node.target, "_schema", None) for node in graph.nodes]
    return any(
        schema is not None and (schema.is_mutable or schema.name == "aten::batch_norm")
        for schema in schemas
    )


def _note_own_buffers(exported: ExportedModule, made: Any) -> ExportedModule:
    """What a module that was made of a program is, whose buffers may be those of the original."""
    own = {id(buffer) for buffer in exported.function.buffers()}
    is_shared = any(id(buffer) in own for buffer in made.buffers())
    return exported if is_shared and not exported.loses_writes else exported.with_own_buffers()


def note_shared_parameters(exported: ExportedModule, made: Any) -> ExportedModule:
    """The same where the module that was made of a program has the original's own parameters
    (`torch/export/_unlift.py`), so that gradients of both can be compared.
    """
    own = {id(parameter) for parameter in made.parameters()}
    needed = {id(parameter) for parameter in exported.function.parameters()}
    if not needed or not needed <= own:
        return exported
    return exported._replace(options={**exported.options, "shares_parameters": True})
