"""Every operator of an eager program held against itself in float64, on the same inputs.

An operator is wrong where its result is off by far more than its dtype explains and a change of its
inputs in the last place does not move it as far. What stays within that is rounding, what moves
with its inputs is ill-conditioned.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from ...machine.files import write_json
from ...machine.public_names import shorten_name
from ...machine.random_state import RandomState
from ...protocol.starting import OperatorError, OperatorFacts, ShardedError
from ..probe import EMPTY, EagerFactsMode
from .derivative_measurement import DerivativeMeasurement
from .sharding import is_sharded

#: Dtypes that are held against a wider one. An error of more than the root of their unit in the
#: last place, as a share of the largest value, is beyond what rounding once explains.
_NARROW = (torch.float16, torch.bfloat16, torch.float32, torch.complex64)
_WIDE = {torch.complex64: torch.complex128}
#: The error must stay so many times above what the inputs' last bits move.
_ABOVE_LAST_BITS = 8.0
#: How often the inputs are moved to see that.
_NUDGES = 6
#: Results kept of each sort.
_MOST_FOUND = 8
#: Factors and eigenvalues have no sign or order that is the only right one.
_NOT_UNIQUE = frozenset(
    "linalg_eig _linalg_eigvals linalg_eigvals _linalg_eigh _linalg_svd linalg_qr geqrf ormqr"
    " linalg_lu linalg_lu_factor_ex linalg_ldl_factor_ex lobpcg".split()
)
#: What multiplies a tensor by itself.
_PRODUCTS = frozenset("square square_ prod cumprod".split())
#: Tensors with more elements are not looked at, nor is anything after so many seconds.
_MOST_ELEMENTS, _MOST_SECONDS = 1 << 20, 60.0
#: What makes random numbers on its own; what takes a tensor and draws makes a program random.
_RANDOM_FUNCTIONS = frozenset(
    "rand randn randint randperm rand_like randn_like randint_like normal normal_ uniform_"
    " random_ exponential_".split()
)


class OperatorMeasurement(EagerFactsMode):
    """Notes what is found in the file `path`, as JSON; `number` is asked for the number of the
    function that the program has called.
    """

    def __init__(self, path: str, number: Callable[[], int]) -> None:
        super().__init__()
        self.path = path
        self.number = number
        self.started = time.monotonic()
        self.found: Dict[str, List[OperatorError]] = {"wrong": [], "ill": []}
        self.rounded = self.overflowed = 0
        #: While it looks at an operator: what is called then is no call of the program. A torch
        #: function mode sees that where it has not seen the program's own (`Parameter.set_`).
        self.is_looking = False
        #: What a `ShardedMeasurement` finds.
        self.sharded: List[ShardedError] = []
        #: Told of each torch function that the program calls.
        self.derivatives = DerivativeMeasurement()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with self._look():
            if any(map(is_sharded, tree_flatten((args, kwargs or {}))[0])):
                return func(*args, **(kwargs or {}))  # looking at it may be a collective
            wide = self._widen(func, args, kwargs or {})
            result = super().__torch_dispatch__(func, types, args, kwargs)
            if wide is not None:
                self._hold(wide, result)
            return result

    @contextlib.contextmanager
    def _look(self) -> Iterator[None]:
        outer, self.is_looking = self.is_looking, True
        try:
            yield
        finally:
            self.is_looking = outer

    def _widen(self, func: Any, args: Any, named: Any) -> Optional[_Wide]:
        """The operator in float64; None where there is none, or nobody waits for it."""
        tensors = [t for t in tree_flatten((args, named))[0] if isinstance(t, torch.Tensor)]
        if not any(tensor.dtype in _NARROW for tensor in tensors):
            return None
        name = shorten_name(func)
        if name in EMPTY or name in _NOT_UNIQUE or _is_view(func):
            return None
        if "c10d" in func.namespace:  # a collective needs the other processes
            return None
        if torch.Tag.nondeterministic_seeded in func.tags:
            return None
        if any(
            type(t) not in (torch.Tensor, torch.nn.Parameter) or t.layout != torch.strided
            for t in tensors
        ):
            return None
        if sum(tensor.numel() for tensor in tensors) > _MOST_ELEMENTS:
            return None
        if time.monotonic() - self.started > _MOST_SECONDS:
            return None
        return _Wide.build(func, args, named)

    def _hold(self, wide: _Wide, result: Any) -> None:
        own = [leaf for leaf in tree_flatten(result)[0] if _is_narrow(leaf)]
        if len(own) != len(wide.results):
            return
        errors = [_measure_error(*pair, wide.is_function) for pair in zip(own, wide.results)]
        beyond = any(error.beyond for error in errors)
        self.rounded += sum(error.error > 0 and not error.beyond for error in errors)
        self.overflowed += sum(_overflows(*pair) for pair in zip(own, wide.results))
        if not beyond:
            return
        moved = [pair for pair in zip(errors, wide.move()) if pair[0].beyond]
        stands_out = all(error.error > _ABOVE_LAST_BITS * shift for error, shift in moved)
        kind = "wrong" if stands_out else "ill"
        if len(self.found[kind]) < _MOST_FOUND:
            error, shift = moved[0]
            self.found[kind].append(
                {
                    "operator": str(wide.func),
                    "function": self.number(),
                    "error": error.error,
                    "largest": error.largest,
                    "sensitivity": shift,
                }
            )
        self.save()

    def collect_facts(self) -> OperatorFacts:
        """What was found so far."""
        draws = sorted({name for name in self.random if name not in _RANDOM_FUNCTIONS})
        return {
            "wrong": self.found["wrong"],
            "ill": self.found["ill"],
            "rounded": self.rounded,
            "overflowed": self.overflowed,
            "undefined_casts": self.undefined_casts[:20],
            "uninitialized": sorted(set(self.uninitialized)),
            "random": draws,
            "derivatives": self.derivatives.list_wrong(),
            "sharded": self.sharded,
        }

    def note_sharded(self, error: ShardedError) -> None:
        """Keeps what a `ShardedMeasurement` finds, at once: the program may be ended by another."""
        if len(self.sharded) < _MOST_FOUND:
            self.sharded.append(error)
            self.save()

    def save(self) -> None:
        """Writes the facts, whole or not at all."""
        write_json(self.path, self.collect_facts())


class _Wide:
    """An operator in float64, on copies of the inputs that it was called with."""

    def __init__(self, func: Any, args: Any, named: Any) -> None:
        self.func = func
        #: By position in the flattened arguments: the dtype of a tensor that was widened.
        self.given: List[Any] = []
        leaves, self.spec = tree_flatten((args, named))
        self.dtypes = [leaf.dtype if _is_narrow(leaf) else None for leaf in leaves]
        self.given = [_copy(leaf) for leaf in leaves]
        self.results: List[torch.Tensor] = self._run(self.given)
        #: Whether it is a function of one number, and no power, which is made of products.
        self.is_function = len(leaves) == 1 and shorten_name(func) not in _PRODUCTS

    @classmethod
    def build(cls, func: Any, args: Any, named: Any) -> Optional[_Wide]:
        """None where the operator has no kernel for float64, wants another dtype, or draws."""
        state = RandomState.read()
        try:
            wide = cls(func, args, named)
        except Exception:  # an operator may refuse other dtypes with any exception
            wide = None
        if state.find_moved():
            state.restore()
            return None
        return wide

    def _run(self, leaves: List[Any]) -> List[torch.Tensor]:
        args, named = tree_unflatten([_copy(leaf) for leaf in leaves], self.spec)
        with torch.no_grad():
            result = self.func(*args, **named)
        return [leaf.clone() for leaf in tree_flatten(result)[0] if _is_wide(leaf)]

    def move(self) -> List[float]:
        """By result: how far moving each element of the inputs by one unit in the last place of
        its own dtype, up or down at random, moves it at most.
        """
        farthest = [0.0] * len(self.results)
        generator = torch.Generator().manual_seed(0)
        for _ in range(_NUDGES):
            leaves = [
                leaf if dtype is None else _nudge(leaf, dtype, generator)
                for leaf, dtype in zip(self.given, self.dtypes)
            ]
            try:
                results = self._run(leaves)
            except Exception:  # a singular matrix beside the given one
                return [float("inf")] * len(self.results)
            for number, (moved, exact) in enumerate(zip(results, self.results)):
                if moved.shape != exact.shape:
                    return [float("inf")] * len(self.results)
                if exact.numel():
                    shift = _find_largest(moved - exact, torch.isfinite(exact))
                    farthest[number] = max(farthest[number], shift)
        return farthest


class _Error(NamedTuple):
    error: float
    largest: float
    beyond: bool


def _measure_error(own: torch.Tensor, wide: torch.Tensor, is_function: bool) -> _Error:
    """How a result is off, where float64 has a value that its dtype can hold; of a function of one
    number also where that is infinite, which needs no range: other operators lose it to `inf - inf`
    of intermediate results.

    The parts of a complex number are looked at each alone where it is a function of one: C99 says
    what the one is where the other overflows (annex G.6). Of products it does not.
    """
    if own.shape != wide.shape:
        return _Error(0.0, 0.0, False)
    if is_function and own.is_complex():
        own, wide = (torch.view_as_real(t.detach().resolve_conj()) for t in (own, wide))
    held = torch.isfinite(wide) & (wide.abs() <= torch.finfo(own.dtype).max)
    error = _find_largest(own.detach().to(wide.dtype) - wide, held)
    if is_function and bool((own.isnan() & wide.isinf()).any()):  # a limit that is no number
        error = float("inf")
    largest = _find_largest(wide, held)
    # below the smallest normal number a dtype loses its digits, and then its values
    beyond = error > max(torch.finfo(own.dtype).eps ** 0.5 * largest, torch.finfo(own.dtype).tiny)
    return _Error(error, largest, beyond)


def _overflows(own: torch.Tensor, wide: torch.Tensor) -> bool:
    """Whether a result is infinite, or none, where that in float64 is a number."""
    return own.shape == wide.shape and bool((wide.isfinite() & ~own.detach().isfinite()).any())


def _find_largest(values: torch.Tensor, where: torch.Tensor) -> float:
    """The largest absolute value, where NaN counts as infinite; 0 for none."""
    chosen = values[where].abs().nan_to_num(nan=float("inf"))
    return float(chosen.max()) if chosen.numel() else 0.0


def _is_view(func: Any) -> bool:
    """Whether the result is memory of an input, which a copy of the input does not have."""
    aliased = [result.alias_info for result in func._schema.returns]
    return any(info is not None and not info.is_write for info in aliased)


def _is_narrow(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.dtype in _NARROW


def _is_wide(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.dtype in (torch.float64, torch.complex128)


def _copy(leaf: Any) -> Any:
    """Tensors in float64 with memory of their own, dtypes made wide; other values as they are."""
    if isinstance(leaf, torch.dtype):
        return _widen_dtype(leaf)
    return (
        leaf.detach().to(_widen_dtype(leaf.dtype)).clone()
        if isinstance(leaf, torch.Tensor)
        else leaf
    )


def _widen_dtype(dtype: torch.dtype) -> torch.dtype:
    return _WIDE.get(dtype, torch.float64) if dtype in _NARROW else dtype


def _nudge(values: torch.Tensor, dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    signs = torch.randint(0, 2, values.shape, generator=generator, device="cpu") * 2 - 1
    return values * (1 + signs.to(values.device) * torch.finfo(dtype).eps)
