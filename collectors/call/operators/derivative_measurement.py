"""Derivatives of the calls of a program held against finite differences, in float64 on the same
inputs.

What `torch.autograd.gradcheck` refuses only at a point where the function has a kink, or a jump, is
not wrong: the inputs are moved, and have to be refused there, too, unless the derivative around the
point says what it has to be (`special_points`).
"""

from __future__ import annotations

import contextlib
import time
import types
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Set

import torch
from torch.autograd.gradcheck import GradcheckError
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_unflatten

from ...machine.random_state import RandomState
from ...protocol.repro_words import TRIANGLES
from ...protocol.starting import DerivativeError, DerivativeKind
from . import special_points
from .derivatives import (
    Arguments,
    Derivative,
    is_in_forward_mode,
    is_number,
    is_own_function,
    isolate,
    leave_modes,
    take_own_function,
    unwrap,
    widen,
)
from .sharding import is_sharded

#: What gradcheck says where a derivative is not that of the values.
_MISMATCH = ("Jacobian mismatch for", "Jacobian computed with forward mode mismatch")
#: Functions whose derivative is no limit of differences, by what their names begin with: results
#: that are unique but for a sign, a phase or an order, one triangle that stands for a symmetric
#: matrix, a gradient that passes a rounding by design, rows that get none, numbers next to others.
_BY_CONVENTION = (
    "nextafter",
    "eig",
    "svd",
    "qr",
    "lobpcg",
    "geqrf",
    "lu",
    "ldl",
    "cholesky",
    "fake_quantize",
    "_fake_quantize",
    "gumbel_softmax",
    "rrelu",
    "ctc_loss",
    "_ctc_loss",
    "embedding",
)
#: Operators of these namespaces are torch's own.
_OWN = ("aten", "prims", "prim")
_EXACT = (torch.float64, torch.complex128)
#: By how much the inputs are moved, of their own size or of 1: where a function is steep, finite
#: differences need the larger step.
_STEPS = (1e-3, 0.3, 0.3)
_MOST_ELEMENTS, _MOST_SECONDS, _MOST_ALIKE = 512, 60.0, 2


class _Call(NamedTuple):
    """A call whose derivatives are to be checked, with its arguments in float64 and as they are."""

    number: int
    function: Any
    name: str
    given: Arguments
    own: Arguments
    kinds: List[DerivativeKind]


class DerivativeMeasurement:
    """Looks at the calls of a program whose assertion fails; `found` are those that are wrong."""

    def __init__(self) -> None:
        self.found: List[DerivativeError] = []
        #: Whether the program asks for derivatives of derivatives, or for those of forward mode.
        self.asks: Set[DerivativeKind] = {"gradcheck", "elementwise"}
        self._spent = 0.0
        self._seen: Dict[Any, int] = {}
        #: What is checked when forward mode is left: gradcheck cannot nest it.
        self._waiting: List[_Call] = []

    def look(self, number: int, function: Any, args: Any, kwargs: Dict[str, Any]) -> float:
        """Looks at one call before it is made, and returns the seconds that this took.

        A call is passed over where the function is not torch's own, where its tensors have more
        than `_MOST_ELEMENTS` elements together, and once all looks have taken `_MOST_SECONDS`.

        Args:
            number: the number of the call, from 0; what is wrong is listed by it.
            function: as a torch function mode is given it.
            args: neither they nor `kwargs` are changed: what is checked are copies in float64.
        """
        started = time.monotonic()
        function, args = take_own_function(function, args)
        name = str(getattr(function, "__name__", ""))
        if name in ("grad", "backward") and kwargs.get("create_graph"):
            self.asks.add("gradgradcheck")
        # nothing of the program's, whatever its tensors are, may fail by being looked at
        with contextlib.suppress(Exception):
            if (
                self._spent < _MOST_SECONDS
                and (_is_of_torch(function) or is_own_function(function))
                and not _is_agreed(name, args, kwargs)
            ):
                self._look(number, function, name, args, kwargs)
            self._check_waiting()
        seconds = time.monotonic() - started
        self._spent += seconds
        return seconds

    def _look(self, number: int, function: Any, name: str, args: Any, kwargs: Any) -> None:
        kinds = list(self._list_kinds(args, kwargs))
        if is_own_function(function):  # its first derivatives are the program's own formulas
            kinds = [kind for kind in kinds if kind == "forward_twice"]
        if not kinds:
            return
        with leave_modes(), _disable_current_modes():
            given, own = widen(args, kwargs), isolate(args, kwargs)
        looked_at = []
        for kind in kinds:
            key = (function, kind, _describe_shapes(given))
            self._seen[key] = self._seen.get(key, 0) + 1
            if self._seen[key] <= _MOST_ALIKE:
                looked_at.append(kind)
        self._waiting.append(_Call(number, function, name, given, own, looked_at))

    def _check_waiting(self) -> None:
        if is_in_forward_mode():
            return
        while self._waiting:
            call = self._waiting.pop(0)
            with leave_modes(), _disable_current_modes():
                for kind in call.kinds:
                    given = call.own if kind == "elementwise" else call.given
                    if _is_wrong(Derivative(call.function, kind), given):
                        found: DerivativeError = {
                            "function": call.number,
                            "name": call.name,
                            "kind": kind,
                        }
                        self.found.append(found)
                        break

    def list_wrong(self) -> List[DerivativeError]:
        """What is wrong, of the derivatives that the program asks for."""
        self._check_waiting()
        return [each for each in self.found if each["kind"] in self.asks]

    def _list_kinds(self, args: Any, kwargs: Any) -> Iterator[DerivativeKind]:
        """Which derivatives of a call anybody may ask for, the first ones first."""
        tensors = [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, torch.Tensor)]
        if sum(x.numel() for x in tensors) > _MOST_ELEMENTS or any(map(is_sharded, tensors)):
            return
        wrapped = [x for x in tensors if unwrap(x) is not x or _is_dual(x)]
        if wrapped:
            self.asks.update(("forward", "gradgradcheck"))
            yield from ("gradcheck", "forward", "gradgradcheck")
            nested = _list_nested_kinds(wrapped)
            self.asks.update(nested)
            yield from nested
            if torch.is_inference_mode_enabled():
                self.asks.add("in_inference")
                yield "in_inference"
        elif any(x.requires_grad for x in tensors):
            yield from ("gradcheck", "gradgradcheck", "elementwise")


def _is_of_torch(function: Any) -> bool:
    """Whether a function is torch's own, and no operator that the program has registered."""
    if isinstance(function, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return str(function).partition(".")[0] in _OWN
    if isinstance(function, types.FunctionType):
        return function.__module__.partition(".")[0] == "torch"
    return not hasattr(function, "__dict__")  # a builtin, or a method of tensors


def _is_agreed(name: str, args: Any, kwargs: Dict[str, Any]) -> bool:
    """Whether the derivative is what is agreed on, and no limit of differences."""
    if name in TRIANGLES and len(args) > TRIANGLES[name][0]:
        return False
    plain = name.rpartition("linalg_")[2]
    is_in_place = name.endswith("_") and not name.endswith("__")
    return is_in_place or plain.startswith(_BY_CONVENTION) or bool(kwargs.get("hermitian"))


def _list_nested_kinds(wrapped: List[torch.Tensor]) -> List[DerivativeKind]:
    """Which second derivatives `torch.func` computes around a call: of two transforms that
    differentiate, the inner one says what is differentiated again. None where one does alone.
    """
    functorch: Any = getattr(torch._C, "_functorch", None)
    peek = getattr(functorch, "peek_interpreter_stack", None)
    inner = peek() if peek is not None else None
    if inner is None or all(_count_levels(functorch, value) < 2 for value in wrapped):
        return []
    if inner.key() == functorch.TransformType.Grad:
        return ["over_backward"]
    if inner.key() != functorch.TransformType.Jvp:
        return []
    stack = getattr(functorch, "get_interpreter_stack", None)  # torch 2.0 has none
    keys = [each.key() for each in stack()] if stack is not None else []
    is_twice = keys.count(functorch.TransformType.Jvp) > 1
    return ["over_forward", "forward_twice"] if is_twice else ["over_forward"]


def _count_levels(functorch: Any, value: torch.Tensor) -> int:
    """How often a tensor is differentiated."""
    levels = 0
    while functorch.is_functorch_wrapped_tensor(value):
        levels += bool(functorch.is_gradtrackingtensor(value))
        value = functorch.get_unwrapped(value)
    return levels + bool(value.requires_grad)


def _is_dual(value: torch.Tensor) -> bool:
    try:
        return torch.autograd.forward_ad.unpack_dual(value).tangent is not None
    except Exception:  # outside of every level
        return False


def _describe_shapes(given: Any) -> str:
    leaves = tree_flatten(given)[0]
    return repr([tuple(x.shape) if isinstance(x, torch.Tensor) else x for x in leaves])


def _is_wrong(derivative: Derivative, given: Arguments) -> bool:
    """Whether a derivative is refused, and is so for inputs beside the given ones as well, or
    against what it is beside them.
    """
    state = RandomState.read()
    try:
        with torch.enable_grad():
            args, kwargs = given
            if not _refuses(derivative, args, kwargs) or _draws(derivative.function, args, kwargs):
                return False
            if derivative.kind in ("elementwise", "in_inference"):
                return True
            moved = [_move(given, seed, step) for seed, step in enumerate(_STEPS)]
            if all(
                _is_exact(derivative.function, *each) and _refuses(derivative, *each)
                for each in moved
            ):
                return True
            return special_points.is_wrong_at_point(
                lambda step, shift: derivative.compute(_move(given, 0, step, shift))
            )
    except Exception:  # a function that cannot be differentiated in this way
        return False
    finally:
        state.restore()


def _refuses(derivative: Derivative, args: Any, kwargs: Dict[str, Any]) -> bool:
    try:
        derivative(*args, **kwargs)
    except GradcheckError as error:
        return any(words in str(error) for words in _MISMATCH)
    return False


def _draws(function: Callable[..., Any], args: Any, kwargs: Dict[str, Any]) -> bool:
    """Whether two calls on the same inputs give different results."""
    with torch.no_grad():
        results = [tree_flatten(function(*args, **kwargs))[0] for _ in range(2)]
    pairs = [(a, b) for a, b in zip(*results) if isinstance(a, torch.Tensor)]
    return not all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in pairs)


def _is_exact(function: Callable[..., Any], args: Any, kwargs: Dict[str, Any]) -> bool:
    """Whether the results are finite, and in float64: others have no digits to differ by."""
    with torch.no_grad():
        leaves = tree_flatten(function(*args, **kwargs))[0]
    numbers = [x for x in leaves if isinstance(x, torch.Tensor)]
    return all(
        bool(x.isfinite().all()) and (x.dtype in _EXACT or not is_number(x)) for x in numbers
    )


def _move(given: Any, seed: int, step: float, shift: int = 0) -> Any:
    """Other inputs, all of them greater; what is not finite stays. By `shift` places the elements
    change how far each of them is moved.
    """
    generator = torch.Generator().manual_seed(seed)

    def move(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            return value
        plain = value.detach()
        drawn = torch.rand(plain.shape, generator=generator, dtype=torch.float64, device="cpu")
        noise = step * (0.5 + drawn.roll(shift))
        beside = plain + noise * plain.abs().clamp_min(1.0)
        return torch.where(torch.isfinite(plain), beside, plain).requires_grad_()

    leaves, spec = tree_flatten(given)
    return tree_unflatten([move(leaf) for leaf in leaves], spec)
