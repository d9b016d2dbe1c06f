"""A module that goes through `torch.export` and what comes after it, as a callable that can be held
against the module itself.

The steps are those that the program took: decompositions, saving and loading, unflattening, a
package of AOTInductor, a model of ONNX. Source: `torch/export/__init__.py`,
`torch/_inductor/__init__.py`, `torch/onnx/__init__.py`.
"""

from __future__ import annotations

import io
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from ..protocol.events import CompileOptions
from ..protocol.variation import Rung
from ..protocol.words import ONNX_ARGUMENTS, ExportStep

#: Keyword arguments of torch.export.export.
_EXPORT_ARGUMENTS = (
    "dynamic_shapes",
    "strict",
    "preserve_module_call_signature",
    "prefer_deferred_runtime_asserts_over_guards",
)


class LazyExport:
    """Exports `function` at its first call, for the arguments of that call, and calls what came of
    it from then on.

    `arguments` are those of torch.export.export, or of torch.onnx.export where "onnx" is among the
    steps; `configs` are those of AOTInductor.
    """

    def __init__(
        self,
        function: Any,
        arguments: Dict[str, Any],
        steps: List[ExportStep],
        configs: Optional[Dict[str, Any]] = None,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.steps = steps
        self.configs = configs
        self._callable: Optional[Callable[..., Any]] = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises whatever a step raises."""
        if self._callable is None:
            self._callable = self._make(args, kwargs or None)
        return self._callable(*args, **kwargs)

    def _make(self, args: Tuple[Any, ...], kwargs: Optional[Dict[str, Any]]) -> Callable[..., Any]:
        to_onnx = "onnx" in self.steps
        given = {name: self.arguments[name] for name in ONNX_ARGUMENTS if name in self.arguments}
        if self.steps == ["onnx"]:
            return OnnxModel(_export_to_onnx(self.function, args, kwargs, given))
        export = torch.export.draft_export if "draft" in self.steps else torch.export.export
        taken = {name: self.arguments[name] for name in _EXPORT_ARGUMENTS if name in self.arguments}
        if "dynamic_shapes" in taken:
            taken["dynamic_shapes"] = _build_dimensions(taken["dynamic_shapes"])
        program = _unwrap(export)(self.function, args, kwargs, **taken)
        if to_onnx:
            given.pop("dynamic_shapes", None)  # the exported program has its own
            program = _follow(program, self.steps)
            return OnnxModel(_export_to_onnx(program, (), None, given))
        return follow(program, self.steps, self.configs)


def _build_dimensions(shapes: Any) -> Any:
    """Dynamic shapes as torch.export takes them; the exporter to ONNX takes names as well."""
    if isinstance(shapes, str):
        return torch.export.Dim.DYNAMIC
    if isinstance(shapes, dict):
        return {key: _build_dimensions(item) for key, item in shapes.items()}
    if type(shapes) in (list, tuple):
        return type(shapes)(_build_dimensions(item) for item in shapes)
    return shapes


def _export_to_onnx(
    model: Any, args: Tuple[Any, ...], kwargs: Optional[Dict[str, Any]], given: Dict[str, Any]
) -> Any:
    """What torch.onnx.export makes of a module or an exported program; nothing is written.

    Args:
        model: a module, or an exported program, which takes no `args`.
        given: further keyword arguments of torch.onnx.export, of `ONNX_ARGUMENTS`.

    Returns:
        A `torch.onnx.ONNXProgram`.

    Raises:
        Exception: whatever the exporter raises.
    """
    return _unwrap(torch.onnx.export)(
        model, args, kwargs=kwargs, dynamo=True, verbose=False, **given
    )


class OnnxModel:
    """A model of ONNX that is called as its module is: ONNX Runtime takes and gives flat tensors,
    real numbers for complex ones, and no constants.
    """

    def __init__(self, program: Any) -> None:
        self.program = program

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raises what ONNX Runtime raises, ModuleNotFoundError where it is not installed."""
        import torch.utils._pytree as pytree

        given = iter(self.program(*args, **kwargs))
        exported = self.program.exported_program
        leaves = []
        for node in list(exported.graph_module.graph.nodes)[-1].args[0]:
            if not isinstance(node, torch.fx.Node):
                leaves.append(node)
                continue
            meta = node.meta.get("val")
            is_user = node.name in exported.graph_signature.user_outputs
            if not is_user:  # what is written to a buffer
                continue
            leaf = next(given)
            is_complex = isinstance(meta, torch.Tensor) and meta.is_complex()
            leaves.append(torch.view_as_complex(leaf) if is_complex else leaf)
        return pytree.tree_unflatten(leaves, exported.call_spec.out_spec)


def _unwrap(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without the recorder's wrapper."""
    return getattr(function, "__wrapped__", function)


def follow(
    program: Any, steps: List[ExportStep], configs: Optional[Dict[str, Any]] = None
) -> Callable[..., Any]:
    """What an exported program is called as after `steps`.

    Args:
        program: a `torch.export.ExportedProgram`.
        steps: in their order; "unflatten" and "package" come last, whatever their place.
        configs: settings of Inductor for "package"; not read without that step.

    Raises:
        Exception: whatever a step raises.
    """
    program = _follow(program, steps)
    if "unflatten" in steps:
        unflattened: Callable[..., Any] = _unwrap(torch.export.unflatten)(program)
        return unflattened
    if "package" in steps:
        return _compile_package(program, configs)
    module: Callable[..., Any] = _unwrap(type(program).module)(program)
    return module


def _follow(program: Any, steps: List[ExportStep]) -> Any:
    """The exported program after those of the steps that make an exported program again."""
    for step in steps:
        if step == "decompose":
            program = _unwrap(type(program).run_decompositions)(program)
        elif step == "save":
            file = io.BytesIO()
            _unwrap(torch.export.save)(program, file)
            file.seek(0)
            program = _unwrap(torch.export.load)(file)
    return program


def _compile_package(program: Any, configs: Optional[Dict[str, Any]]) -> Callable[..., Any]:
    import torch._inductor as inductor

    path = _unwrap(inductor.aoti_compile_and_package)(program, inductor_configs=configs)
    package: Callable[..., Any] = _unwrap(inductor.aoti_load_package)(path)
    return package


def list_added_outputs(before: Any, after: Any) -> List[int]:
    """Which outputs, by position, decomposing has added to an exported program, for what it writes
    to: the graph of `after` is functional (`OutputKind` in torch/export/graph_signature.py, 2.13).
    """
    known = [(spec.kind, spec.target) for spec in before.graph_signature.output_specs]
    return [
        number
        for number, spec in enumerate(after.graph_signature.output_specs)
        if spec.kind.name.endswith("_MUTATION") and (spec.kind, spec.target) not in known
    ]


def remove_outputs(program: Any, numbers: List[int]) -> None:
    """Takes outputs away from an exported program, in place: it writes to nothing for them."""
    specs, output = program.graph_signature.output_specs, list(program.graph.nodes)[-1]
    kept = [number for number in range(len(specs)) if number not in numbers]
    output.args = (tuple(output.args[0][number] for number in kept),)
    specs[:] = [specs[number] for number in kept]
    program.graph_module.recompile()


def is_exported(options: CompileOptions) -> bool:
    """Whether these are the options of an exported program, and not those of torch.compile."""
    return options.get("compiler") in ("export", "aoti", "onnx")


def export_afresh(function: Any, options: CompileOptions, rung: Rung) -> LazyExport:
    """The program's own export of `function`, or a variation of it; nothing is exported before its
    first call.

    Args:
        options: arguments of torch.export.export or torch.onnx.export, `steps`, and
            `inductor_configs`.
        rung: its `strict`, `static`, `refine` and `steps` vary the export.

    Raises:
        Exception: `refine` holds fixes that torch cannot apply
            (`torch.export.dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes`).
    """
    known = (*_EXPORT_ARGUMENTS, *ONNX_ARGUMENTS)
    arguments = {name: options[name] for name in known if name in options}
    if "strict" in rung:
        arguments["strict"] = rung["strict"]
    if rung.get("static"):
        arguments.pop("dynamic_shapes", None)
        arguments.pop("dynamic_axes", None)
    if rung.get("refine"):
        arguments["dynamic_shapes"] = _refine(rung["refine"], arguments.get("dynamic_shapes"))
    steps = rung["steps"] if "steps" in rung else list(options["steps"])
    return LazyExport(function, arguments, steps, options.get("inductor_configs"))


def _refine(message: str, shapes: Any) -> Any:
    """The dynamic shapes with the fixes that torch suggests in `message`."""
    from torch.export import dynamic_shapes

    return dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes(message, shapes)
