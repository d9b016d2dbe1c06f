"""Each launch of a kernel as data: what was passed, as Triton's compiler sees it, and the options
it was launched with.

Triton compiles a kernel anew for each combination of dtypes, constants and alignment, so one launch
of each is kept.
"""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, Callable, Dict, List, Tuple, Union

from ..protocol.kernels import KernelConstant, KernelLaunch, TensorArgument

_MAX = 32
_DTYPES = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint8": "u8",
    "bool": "i1",
}
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")


class Launches:
    """The launches of one process, by kernel and specialization.

    `kernels` keeps the jit objects themselves.
    """

    def __init__(self) -> None:
        self.rows: List[KernelLaunch] = []
        self.kernels: List[Any] = []
        self._known: Dict[str, KernelLaunch] = {}

    def note(self, kernel: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        """Remembers one launch; counts those that repeat an earlier one.

        Of different ones the first `_MAX` are kept. A row has the shape, dtype, strides and device
        of a tensor, and not the tensor.

        Args:
            kernel: a jit object of Triton, or another object whose `fn` is the kernel's function.
            args: what the kernel is launched with, tensors on any device.
            kwargs: parameters by name, and the options of `OPTIONS`.
        """
        function = kernel.fn
        bound = _bind(function, args, kwargs)
        signature, constexprs, aligned = _specialize(function, bound)
        row: KernelLaunch = {
            "kernel": function.__name__,
            "file": inspect.getsourcefile(function) or "",
            "line": function.__code__.co_firstlineno,
            "signature": signature,
            "constexprs": constexprs,
            "aligned": aligned,
            "arguments": {name: describe_launch(value) for name, value in bound.items()},
            "options": {name: kwargs[name] for name in OPTIONS if kwargs.get(name) is not None},
        }
        key = repr(
            (
                row["file"],
                row["line"],
                row["signature"],
                row["constexprs"],
                row["aligned"],
                row["options"],
            )
        )
        if key in self._known:
            self._known[key]["times"] += 1
        elif len(self.rows) < _MAX:
            row["times"] = 1
            self._known[key] = row
            self.rows.append(row)
            self.kernels.append(kernel)


def _bind(function: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    parameters = inspect.signature(function).parameters
    given = dict(zip(parameters, args))
    given.update({name: value for name, value in kwargs.items() if name in parameters})
    for name, parameter in parameters.items():
        if name not in given and parameter.default is not inspect.Parameter.empty:
            given[name] = parameter.default
    return {name: given[name] for name in parameters if name in given}


def is_constexpr(function: Any, name: str) -> bool:
    """Whether a parameter is annotated as tl.constexpr, as text or as the class itself."""
    annotation = function.__annotations__.get(name, "")
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return "constexpr" in str(text)


def _specialize(
    function: Any, bound: Dict[str, Any]
) -> Tuple[Dict[str, str], Dict[str, KernelConstant], List[str]]:
    """`signature` (name -> `*fp32`, `i32`), `constexprs`, and the names of what is a multiple of
    16, in order of the parameters.
    """
    signature: Dict[str, str] = {}
    constexprs: Dict[str, KernelConstant] = {}
    aligned: List[str] = []
    for name, value in bound.items():
        if is_constexpr(function, name) or value is None:
            constexprs[name] = _encode_constant(value)
            signature[name] = "constexpr"
            continue
        signature[name] = _name_type(value)
        number = value.data_ptr() if hasattr(value, "data_ptr") else value
        if isinstance(number, int) and not isinstance(number, bool) and number % 16 == 0:
            aligned.append(name)
    return signature, constexprs, aligned


def _name_type(value: Any) -> str:
    dtype = getattr(value, "dtype", None)
    if dtype is not None and hasattr(value, "data_ptr"):
        return "*" + _DTYPES.get(str(dtype).rpartition(".")[2], "fp32")
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64"
    if isinstance(value, float):
        return "fp32"
    return "constexpr"


def _encode_constant(value: Any) -> KernelConstant:
    """A constexpr as JSON: plain values as they are, Triton's own dtypes as their name in `tl`."""
    value = getattr(value, "value", value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    name = str(value)
    return {"tl": _NAMES.get(name, name)}


_NAMES = {"fp16": "float16", "fp32": "float32", "fp64": "float64", "bf16": "bfloat16"}


def describe_launch(value: Any) -> Union[TensorArgument, KernelConstant]:
    """An argument of a kernel's launch as data: shape, dtype, stride and device of a tensor, else
    the constant.
    """
    if hasattr(value, "data_ptr"):
        return {
            "shape": list(value.shape),
            "dtype": str(value.dtype),
            "stride": list(value.stride()),
            "device": str(value.device.type),
        }
    return _encode_constant(value)


def watch_interpreted(launches: Launches) -> None:
    """Notes each launch under the interpreter, then lets it run.

    Raises:
        AttributeError: there is none.
    """
    from triton.runtime import interpreter

    executor = interpreter.GridExecutor
    original = executor.__call__

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Exception):  # the script must not fail by being watched
            launches.note(_Plain(self.fn), args, kwargs)
        return original(self, *args, **kwargs)

    executor.__call__ = call
    _keep_one_configuration()


class _Plain:
    """What the interpreter runs, with the function under the name that a jit object has it."""

    def __init__(self, function: Any) -> None:
        self.fn = getattr(function, "__wrapped__", function)


def watch_compiled(
    launches: Launches, then: Callable[[Any, Tuple[Any, ...], Dict[str, Any]], None]
) -> None:
    """Notes each launch instead of making it, and hands it to `then`: there is no GPU to launch
    on.
    """
    from triton.runtime import jit

    def run(self: Any, *args: Any, grid: Any = None, warmup: bool = False, **kwargs: Any) -> Any:
        before = len(launches.rows)
        launches.note(self, args, kwargs)
        if len(launches.rows) > before:
            then(self, args, kwargs)

    jit.JITFunction.run = run
    _keep_one_configuration()


def _keep_one_configuration() -> None:
    """Autotuning measures on a GPU; the first configuration stands for all of them."""
    from triton.runtime import autotuner

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = self.configs[0]
        settings = chosen.all_kwargs() if hasattr(chosen, "all_kwargs") else dict(chosen.kwargs)
        return self.fn.run(*args, **{**kwargs, **settings})

    autotuner.Autotuner.run = run
