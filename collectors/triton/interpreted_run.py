"""The program with inductor's Triton kernels for its C++ ones, run by Triton's interpreter: does
its failure show there too?

What fails on the CPU and not here is a fault of the C++ code; what fails in both is older than the
choice of a language. The interpreter does in numpy what a kernel says, program by program, on the
very tensors of the run, so the script's own assertions judge the outcome. What it cannot do
(functions of CUDA's library that numpy and torch lack) is said, not guessed.
"""

from __future__ import annotations

import inspect
from typing import Any, Callable, Dict, Optional

from ..protocol.kernels import KernelLaunch, KernelsAnswer, ScriptEnding
from ..protocol.repro_words import CandidateOutcome
from . import inductor_kernels, launches

#: Elements that one program of the interpreter works on; it pays by the program, not by the
#: element.
_ELEMENTS = 1 << 14


class InterpretedRun:
    """What was run: `launched` kernels, and `trouble`, the first reason why a kernel could not
    be.
    """

    def __init__(self) -> None:
        self.launched = 0
        self.trouble = ""

    def make_launcher(self, folder: str) -> Callable[[Optional[KernelLaunch], str], _Launcher]:
        """What stands for a compiled kernel, given its row (see `generated.describe`) and name."""

        def make(row: Optional[KernelLaunch], name: str) -> _Launcher:
            return _Launcher(self, row, name, folder)

        return make


class CannotInterpretError(RuntimeError):
    """A kernel that the interpreter does not run, with the reason."""


class _Launcher:
    def __init__(
        self, found: InterpretedRun, row: Optional[KernelLaunch], name: str, folder: str
    ) -> None:
        self._found, self._row, self._name, self._folder = found, row, name, folder
        self._kernel: Any = None

    def run(self, *args: Any, grid: Any = None, **_: Any) -> None:
        """One launch, as the code that inductor writes makes it.

        Raises:
            CannotInterpretError: the kernel does not run in the interpreter.
        """
        try:
            self._launch(args, grid)
        except Exception as error:  # a kernel that is wrong may raise anything
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            line = (str(cause).strip().splitlines() or [""])[0][:200]
            self._found.trouble = self._found.trouble or "{}: {}".format(
                type(cause).__name__, line
            ).rstrip(": ")
            raise CannotInterpretError(self._found.trouble) from error
        self._found.launched += 1

    def _launch(self, args: Any, grid: Any) -> None:
        row = self._row
        if row is None:
            raise CannotInterpretError("a kernel of a form that is not known here")
        if self._kernel is None:
            self._kernel = inductor_kernels.import_kernel(row, self._folder, self._name)
        function = getattr(self._kernel, "fn", self._kernel)
        # a parameter that is always None has no place in the call
        names = [
            name
            for name in inspect.signature(function).parameters
            if not launches.is_constexpr(function, name)
            and not (name in row["constexprs"] and row["constexprs"][name] is None)
        ]
        if len(names) != len(args):
            raise CannotInterpretError(
                "{} arguments for {} parameters".format(len(args), len(names))
            )
        constants = dict(row["constexprs"])
        constants.update(
            inductor_kernels.choose_block_sizes(
                row["blocks"], row["size_hints"], _ELEMENTS, _ELEMENTS
            )
        )
        given = {**constants, **dict(zip(names, args))}
        self._kernel[self._compute_grid(row, grid, constants, given)](**given)

    @staticmethod
    def _compute_grid(
        row: KernelLaunch, grid: Any, constants: Dict[str, Any], given: Dict[str, Any]
    ) -> Any:
        """The number of programs along each dimension: torch's own arithmetic, handed to the launch
        until 2.6, looked up since.
        """
        if grid is not None:
            found = grid(constants) if callable(grid) else grid
        else:
            from torch._inductor.runtime.triton_heuristics import GridExpr

            found = GridExpr.from_meta(row["launcher"], constants).eval_slow(given)
        return tuple(int(size) for size in found)


#: Functions of CUDA's library and what computes the same on the CPU; most have the same name in
#: torch.
_SAME = (
    "abs acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh erf erfc erfinv exp exp2"
    " expm1 floor fmod hypot lgamma log log10 log1p log2 nextafter pow round rsqrt sin sinh sqrt"
    " tan tanh trunc"
).split()
_OTHERS = {
    "fabs": "abs",
    "rint": "round",
    "nearbyint": "round",
    "j0": "special.bessel_j0",
    "j1": "special.bessel_j1",
    "y0": "special.bessel_y0",
    "y1": "special.bessel_y1",
    "cyl_bessel_i0": "special.i0",
    "cyl_bessel_i1": "special.i1",
    "erfcx": "special.erfcx",
    "normcdf": "special.ndtr",
    "normcdfinv": "special.ndtri",
    "isnan": "isnan",
    "isinf": "isinf",
    "signbit": "signbit",
    "isinfd": "isinf",
    "isnand": "isnan",
    "fast_tanhf": "tanh",
    "fast_expf": "exp",
    "fast_sinf": "sin",
    "fast_cosf": "cos",
    "fast_logf": "log",
}
#: C rounds halves away from zero, torch to even.
_OWN = {"round": lambda x: x.trunc() + x.sign() * ((x - x.trunc()).abs() >= 0.5)}
_LONG = ("llrint", "llround")


def teach_library() -> None:
    """Gives the interpreter what it lacks of CUDA's library.

    Raises:
        ImportError: this Triton is of another form.
        AttributeError: this Triton is of another form.
    """
    import torch
    import triton.language as tl
    from torch._inductor.runtime import triton_helpers
    from triton.runtime import interpreter
    from triton.runtime.interpreter import TensorHandle

    if not hasattr(interpreter.InterpreterBuilder, "get_int1_ty"):  # forgotten until 3.2
        interpreter.InterpreterBuilder.get_int1_ty = lambda self: tl.int1

    def implement(function: Callable[..., Any], result: Optional[Any] = None) -> Callable[..., Any]:
        def compute(*args: Any, **_: Any) -> Any:
            like = next(arg for arg in args if isinstance(arg, tl.tensor))
            values = [
                torch.from_numpy(arg.handle.data) if isinstance(arg, tl.tensor) else arg
                for arg in args
            ]
            data = torch.as_tensor(function(*values)).numpy()
            scalar = result or like.dtype.scalar
            kind = scalar if like.type.is_block() is False else tl.block_type(scalar, like.shape)
            kept = data.astype("int32") if data.dtype == bool else data
            return tl.core.tensor(TensorHandle(kept, scalar), kind)

        return compute

    library = triton_helpers.libdevice
    for name, called in {**{name: name for name in _SAME}, **_OTHERS}.items():
        owner: Any = torch
        for part in called.split("."):
            owner = getattr(owner, part, None)
        own: Any = _OWN.get(name, owner)
        if own is not None and hasattr(library, name):
            asks = called in ("isnan", "isinf", "signbit")
            setattr(library, name, implement(own, tl.int32 if asks else None))
    for name in _LONG:
        if hasattr(library, name):
            rounded = implement(lambda x: torch.round(x).to(torch.int64), tl.int64)
            setattr(library, name, rounded)


def judge_ending(found: InterpretedRun, ending: ScriptEnding) -> KernelsAnswer:
    """What the script's own assertions say, or why nothing can be said."""
    if found.trouble:
        return {"skipped": "the interpreter cannot run a kernel ({})".format(found.trouble)}
    if ending["exit"] == 0:
        if not found.launched:
            return {"skipped": "no Triton kernel was launched"}
        return {"outcome": CandidateOutcome.PASSES, "launched": found.launched}
    if ending["exit"] != 1 or "exception" not in ending:
        return {"skipped": "the script ended with {}".format(ending["exit"])}
    return {
        "outcome": CandidateOutcome.FAILS,
        "launched": found.launched,
        "exception": ending["exception"],
        "message": ending["message"],
    }
