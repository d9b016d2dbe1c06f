"""A module that goes through `torch.export` and what comes after it, as a callable that can be held
against the module itself.

The steps are those that the program took: decompositions, saving and loading, unflattening, a
package of AOTInductor. Source: `torch/export/__init__.py`, `torch/_inductor/__init__.py`.
"""

from __future__ import annotations

import io
from typing import Any, Callable, Dict, List, Optional

import torch

from ..protocol import CompileOptions, ExportStep, Rung

#: Keyword arguments of torch.export.export.
EXPORT_ARGUMENTS = (
    "dynamic_shapes",
    "strict",
    "preserve_module_call_signature",
    "prefer_deferred_runtime_asserts_over_guards",
)


class Exported:
    """Exports `function` at its first call, for the arguments of that call, and calls what came of
    it from then on.

    `arguments` are those of torch.export.export, `configs` those of AOTInductor.
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
            program = _plain(torch.export.export)(
                self.function, args, kwargs or None, **self.arguments
            )
            self._callable = follow(program, self.steps, self.configs)
        return self._callable(*args, **kwargs)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function without the recorder's wrapper."""
    return getattr(function, "__wrapped__", function)


def follow(
    program: Any, steps: List[ExportStep], configs: Optional[Dict[str, Any]] = None
) -> Callable[..., Any]:
    """What an exported program is called as after `steps`. Raises whatever a step raises."""
    for step in steps:
        if step == "decompose":
            program = _plain(type(program).run_decompositions)(program)
        elif step == "save":
            file = io.BytesIO()
            _plain(torch.export.save)(program, file)
            file.seek(0)
            program = _plain(torch.export.load)(file)
        elif step == "unflatten":
            unflattened: Callable[..., Any] = _plain(torch.export.unflatten)(program)
            return unflattened
        elif step == "package":
            return _packaged(program, configs)
    module: Callable[..., Any] = _plain(type(program).module)(program)
    return module


def _packaged(program: Any, configs: Optional[Dict[str, Any]]) -> Callable[..., Any]:
    import torch._inductor as inductor

    path = _plain(inductor.aoti_compile_and_package)(program, inductor_configs=configs)
    package: Callable[..., Any] = _plain(inductor.aoti_load_package)(path)
    return package


def is_exported(options: CompileOptions) -> bool:
    """Whether these are the options of an exported program, and not those of torch.compile."""
    return options.get("compiler") in ("export", "aoti")


def export_afresh(function: Any, options: CompileOptions, rung: Rung) -> Exported:
    """The program's own export of `function`, or a variation of it."""
    arguments = {name: options[name] for name in EXPORT_ARGUMENTS if name in options}
    if "strict" in rung:
        arguments["strict"] = rung["strict"]
    if rung.get("static"):
        arguments.pop("dynamic_shapes", None)
    if rung.get("refine"):
        arguments["dynamic_shapes"] = _refined(rung["refine"], arguments.get("dynamic_shapes"))
    steps = rung["steps"] if "steps" in rung else list(options["steps"])
    return Exported(function, arguments, steps, options.get("inductor_configs"))


def _refined(message: str, shapes: Any) -> Any:
    """The dynamic shapes with the fixes that torch suggests in `message`."""
    from torch.export import dynamic_shapes

    return dynamic_shapes.refine_dynamic_shapes_from_suggested_fixes(message, shapes)
