"""Each launch of a kernel as data: what was passed, as Triton's compiler sees it, and the options
it was launched with.

Triton compiles a kernel anew for each combination of dtypes, constants and alignment, so one launch
of each is kept.
"""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, Callable, Dict, List, Set, Tuple, Union

from ..protocol.kernels import KernelConstant, KernelLaunch, TensorArgument

_MAX = 32
#: Arguments of a launch by the names of their parameters.
_Values = Dict[str, Any]
#: Names of torch's dtypes in Triton (`triton/_utils.py: type_canonicalisation_dict`, 3.9).
_DTYPES = {
    "float64": "fp64",
    "float32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint64": "u64",
    "uint32": "u32",
    "uint16": "u16",
    "uint8": "u8",
    "bool": "i1",
}
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")


class UnknownArgumentError(Exception):
    """A kernel is given what has no type that could be named here; the text says what."""


class Launches:
    """The launches of one process, by kernel and specialization.

    `kernels` keeps the jit objects themselves, `constants` the constant parameters of each launch
    as they were passed: functions and tuples among them are no JSON.
    """

    def __init__(self) -> None:
        self.rows: List[KernelLaunch] = []
        self.kernels: List[Any] = []
        self.constants: List[_Values] = []
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
        unknown = ""
        try:
            signature, constants, aligned = _specialize(kernel, bound)
        except UnknownArgumentError as error:
            unknown, signature, constants, aligned = str(error), {}, {}, []
        row: KernelLaunch = {
            "kernel": function.__name__,
            "file": inspect.getsourcefile(function) or "",
            "line": function.__code__.co_firstlineno,
            "signature": signature,
            "constexprs": {name: _encode_constant(value) for name, value in constants.items()},
            "aligned": aligned,
            "arguments": {name: describe_launch(value) for name, value in bound.items()},
            "options": {name: kwargs[name] for name in OPTIONS if kwargs.get(name) is not None},
        }
        if unknown:
            row["unknown"] = unknown
        key = repr(
            (
                row["file"],
                row["line"],
                row["signature"],
                row["constexprs"],
                row["aligned"],
                row["options"],
                unknown,
            )
        )
        if key in self._known:
            self._known[key]["times"] += 1
        elif len(self.rows) < _MAX:
            row["times"] = 1
            self._known[key] = row
            self.rows.append(row)
            self.kernels.append(kernel)
            self.constants.append(constants)


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


def _specialize(kernel: Any, bound: _Values) -> Tuple[Dict[str, str], _Values, List[str]]:
    """`signature` (name -> `*fp32`, `i32`), the constants, and the names of what is a multiple of
    16, in order of the parameters.

    A whole number that is 1 is a constant, too (`triton/runtime/jit.py`, 2.0 to 3.9).

    Raises:
        UnknownArgumentError: an argument has no type that could be named.
    """
    signature: Dict[str, str] = {}
    constants: _Values = {}
    aligned: List[str] = []
    fixed = _list_unspecialized(kernel, list(inspect.signature(kernel.fn).parameters))
    for name, value in bound.items():
        is_one = type(value) is int and value == 1 and name not in fixed
        if is_constexpr(kernel.fn, name) or value is None or is_one or _is_constant(value):
            constants[name] = value
            signature[name] = "constexpr"
            continue
        signature[name] = _name_type(name, value)
        number = value.data_ptr() if hasattr(value, "data_ptr") else value
        is_whole = isinstance(number, int) and not isinstance(number, bool)
        if is_whole and number % 16 == 0 and name not in fixed:
            aligned.append(name)
    return signature, constants, aligned


def _list_unspecialized(kernel: object, names: List[str]) -> Set[str]:
    """The parameters whose values Triton is asked not to look at, which are given by name or by
    place.
    """
    given = getattr(kernel, "do_not_specialize", None) or ()
    return {names[item] if isinstance(item, int) else str(item) for item in given}


def _is_constant(value: object) -> bool:
    """Whether Triton compiles a value in although its parameter does not ask for that."""
    if isinstance(value, str):
        return True
    if value is None or isinstance(value, (bool, int, float)) or hasattr(value, "data_ptr"):
        return False
    import triton.language as tl
    from triton.runtime.jit import JITFunction

    return isinstance(value, (tl.constexpr, tl.dtype, JITFunction))


def _name_type(name: str, value: object) -> str:
    """What Triton's compiler calls the type of an argument.

    Raises:
        UnknownArgumentError: it is of none of the types that have a name here.
    """
    dtype = str(getattr(value, "dtype", None)).rpartition(".")[2]
    if hasattr(value, "data_ptr"):
        if dtype not in _DTYPES:
            raise UnknownArgumentError("{} (a tensor of {})".format(name, dtype))
        return "*" + _DTYPES[dtype]
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        return "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
    if isinstance(value, float):
        return "fp32"
    raise UnknownArgumentError("{} ({})".format(name, type(value).__name__))


def _encode_constant(value: object) -> KernelConstant:
    """A constant as JSON: plain values as they are, Triton's own dtypes as their name in `tl`,
    anything else as its text.
    """
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
