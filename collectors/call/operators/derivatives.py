"""Derivatives of a torch function held against finite differences, in float64 on the same inputs.

`torch.autograd.gradcheck` does the arithmetic. What it refuses only at a point where the function
has a kink, or a jump, is not wrong: the inputs are moved, and have to be refused there, too.
"""

from __future__ import annotations

import contextlib
import importlib
import time
import types
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple, cast

import torch
from torch.autograd.gradcheck import GradcheckError
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_unflatten

from ...protocol.repro_words import TRIANGLES
from ...protocol.starting import DerivativeError, DerivativeKind
from .sharding import is_sharded

#: Arguments of gradcheck beside those of the function, by what is checked.
_FORWARD = {"check_forward_ad": True, "check_backward_ad": False}
#: What gradcheck says where a derivative is not that of the values.
_MISMATCH = ("Jacobian mismatch for", "Jacobian computed with forward mode mismatch")
#: Functions whose derivative is no limit of differences, by what their names begin with: results
#: that are unique but for a sign, a phase or an order, one triangle that stands for a symmetric
#: matrix, a gradient that passes a rounding by design, rows that get none.
_BY_CONVENTION = (
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
_WIDE = {torch.complex32: torch.complex128, torch.complex64: torch.complex128}
_EXACT = (torch.float64, torch.complex128)
#: By how much the inputs are moved, of their own size or of 1: where a function is steep, finite
#: differences need the larger step.
_STEPS = (1e-3, 0.3, 0.3)
_MOST_ELEMENTS, _MOST_SECONDS, _MOST_ALIKE = 512, 60.0, 2
#: Derivatives of more elements are held against one random direction, not against all.
_MOST_DIRECTIONS = 32


class Derivative:
    """A call that raises `GradcheckError` where a derivative of the function is wrong, and whatever
    computing it raises.

    Args:
        function: one of torch's own.
        kind: which derivative.
    """

    def __init__(self, function: Callable[..., Any], kind: DerivativeKind) -> None:
        self.function = function
        self.kind = kind

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        leaves, spec = tree_flatten((args, kwargs))
        places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def call(*tensors: torch.Tensor) -> Any:
            given = list(leaves)
            for at, tensor in zip(places, tensors):
                given[at] = tensor
            positional, named = tree_unflatten(given, spec)
            return self.function(*self._keep_triangle(positional, named), **named)

        tensors = tuple(leaves[at] for at in places)
        if self.kind == "backward":
            results = [leaf for leaf in tree_flatten(call(*tensors))[0] if _requires_grad(leaf)]
            asked = [tensor for tensor in tensors if tensor.requires_grad]
            flows = [torch.ones_like(result) for result in results]
            torch.autograd.grad(results, asked, flows, allow_unused=True)
            return True
        fast = sum(tensor.numel() for tensor in tensors) > _MOST_DIRECTIONS
        if self.kind == "gradgradcheck":
            return bool(torch.autograd.gradgradcheck(call, tensors, fast_mode=fast))
        if self.kind == "over_forward":
            call = _differentiate_forward(call)
        more: Dict[str, Any] = _FORWARD if self.kind == "forward" else {}
        return bool(torch.autograd.gradcheck(call, tensors, fast_mode=fast, **more))

    def find_triangle(self, args: Any, kwargs: Dict[str, Any]) -> Optional[Tuple[int, str]]:
        """Of a function that reads one triangle of a factor: the factor's place, and the method of
        tensors that keeps what is read, with zeros beside it.
        """
        found = TRIANGLES.get(getattr(self.function, "__name__", ""))
        if found is None:
            return None
        factor, flag = found
        upper = kwargs.get("upper", args[flag] if len(args) > flag else False)
        return factor, "triu" if upper else "tril"

    def _keep_triangle(self, args: Any, kwargs: Dict[str, Any]) -> Any:
        """The arguments with the triangle of the factor that is read."""
        found = self.find_triangle(args, kwargs)
        if found is None:
            return args
        factor, keep = found
        return (*args[:factor], getattr(args[factor], keep)(), *args[factor + 1 :])


class _Call(NamedTuple):
    """A call whose derivatives are to be checked, with its arguments in float64."""

    number: int
    function: Any
    name: str
    given: Tuple[Any, Dict[str, Any]]
    kinds: List[DerivativeKind]


class DerivativeMeasurement:
    """Looks at the calls of a program whose assertion fails; `found` are those that are wrong."""

    def __init__(self) -> None:
        self.found: List[DerivativeError] = []
        #: Whether the program asks for derivatives of derivatives, or for those of forward mode.
        self.asks: Set[DerivativeKind] = {"gradcheck"}
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
        name = str(getattr(function, "__name__", ""))
        if name in ("grad", "backward") and kwargs.get("create_graph"):
            self.asks.add("gradgradcheck")
        # nothing of the program's, whatever its tensors are, may fail by being looked at
        with contextlib.suppress(Exception):
            if (
                self._spent < _MOST_SECONDS
                and _is_of_torch(function)
                and not _is_agreed(name, args, kwargs)
            ):
                self._look(number, function, name, args, kwargs)
            self._check_waiting()
        seconds = time.monotonic() - started
        self._spent += seconds
        return seconds

    def _look(self, number: int, function: Any, name: str, args: Any, kwargs: Any) -> None:
        kinds = list(self._list_kinds(args, kwargs))
        if not kinds:
            return
        with leave_transforms(), _disable_current_modes():
            given = widen(args, kwargs)
        looked_at = []
        for kind in kinds:
            key = (function, kind, _describe_shapes(given))
            self._seen[key] = self._seen.get(key, 0) + 1
            if self._seen[key] <= _MOST_ALIKE:
                looked_at.append(kind)
        self._waiting.append(_Call(number, function, name, given, looked_at))

    def _check_waiting(self) -> None:
        if is_in_forward_mode():
            return
        while self._waiting:
            call = self._waiting.pop(0)
            with leave_transforms(), _disable_current_modes():
                for kind in call.kinds:
                    if _is_wrong(Derivative(call.function, kind), call.given):
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
        wrapped = [x for x in tensors if _unwrap(x) is not x or _is_dual(x)]
        if wrapped:
            self.asks.update(("forward", "gradgradcheck"))
            yield from ("gradcheck", "forward", "gradgradcheck")
            if _is_over_forward(wrapped):
                self.asks.add("over_forward")
                yield "over_forward"
        elif any(x.requires_grad for x in tensors):
            yield from ("gradcheck", "gradgradcheck")


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


def leave_transforms() -> Any:
    """A context in which the transforms of `torch.func` that a call is made in are not there.

    Before 2.1 there is no way out of them, and nothing is to be looked at within.
    """
    module = importlib.import_module("torch._functorch.pyfunctorch")
    clear = getattr(module, "temporarily_clear_interpreter_stack", None)
    return clear() if clear is not None else contextlib.nullcontext()


def is_in_forward_mode() -> bool:
    """Whether a level of forward mode is open, which `torch.func.jvp` opens as well."""
    return bool(getattr(torch.autograd.forward_ad, "_current_level", -1) >= 0)


def widen(args: Any, kwargs: Dict[str, Any]) -> Tuple[Any, Dict[str, Any]]:
    """The arguments with every floating-point tensor as a leaf in float64 that requires a gradient,
    without what transforms have wrapped around it.

    Returns:
        Copies on the same device; complex tensors are in complex128. Other tensors are copied as
        they are, and what is no tensor is the same object.
    """
    leaves, spec = tree_flatten((args, kwargs))
    return cast("Tuple[Any, Dict[str, Any]]", tree_unflatten([_make_leaf(x) for x in leaves], spec))


def isolate(args: Any, kwargs: Dict[str, Any]) -> Tuple[Any, Dict[str, Any]]:
    """The arguments with every tensor that requires a gradient as a leaf, in the dtype it has.

    Returns:
        Copies of these on the same device; all else is the same object.
    """

    def isolate_one(value: Any) -> Any:
        return value.detach().clone().requires_grad_() if _requires_grad(value) else value

    leaves, spec = tree_flatten((args, kwargs))
    made = tree_unflatten([isolate_one(leaf) for leaf in leaves], spec)
    return cast("Tuple[Any, Dict[str, Any]]", made)


def _requires_grad(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _make_leaf(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    plain = _unwrap(value).detach()
    if not _is_number(plain):
        return plain.clone()
    dtype = _WIDE.get(plain.dtype, torch.complex128 if plain.dtype.is_complex else torch.float64)
    return plain.to(dtype).clone().requires_grad_()


def _unwrap(value: torch.Tensor) -> torch.Tensor:
    """The tensor inside the wrappers of `torch.func`; the first one of a batch."""
    functorch: Any = getattr(torch._C, "_functorch", None)
    if functorch is None or not functorch.is_functorch_wrapped_tensor(value):
        return value
    inside = _unwrap(functorch.get_unwrapped(value))
    if functorch.is_batchedtensor(value):
        inside = inside.select(functorch.maybe_get_bdim(value), 0)
    return inside


def _is_over_forward(wrapped: List[torch.Tensor]) -> bool:
    """Whether what a call computes in forward mode, by `torch.func.jvp`, is differentiated again:
    of two transforms that differentiate, the inner one is that mode.
    """
    functorch: Any = getattr(torch._C, "_functorch", None)
    peek = getattr(functorch, "peek_interpreter_stack", None)
    inner = peek() if peek is not None else None
    if inner is None or inner.key() != functorch.TransformType.Jvp:
        return False
    return any(_count_levels(functorch, value) > 1 for value in wrapped)


def _count_levels(functorch: Any, value: torch.Tensor) -> int:
    """How often a tensor is differentiated."""
    levels = 0
    while functorch.is_functorch_wrapped_tensor(value):
        levels += bool(functorch.is_gradtrackingtensor(value))
        value = functorch.get_unwrapped(value)
    return levels + bool(value.requires_grad)


def _differentiate_forward(call: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative of a function in forward mode, as a function, along a direction without
    symmetry: moving all elements alike leaves a normalized result as it is.
    """

    def differentiate(*tensors: torch.Tensor) -> Any:
        return torch.func.jvp(call, tensors, tuple(x.sin() for x in tensors))[1]

    return differentiate


def _is_dual(value: torch.Tensor) -> bool:
    try:
        return torch.autograd.forward_ad.unpack_dual(value).tangent is not None
    except Exception:  # outside of every level
        return False


def _describe_shapes(given: Any) -> str:
    leaves = tree_flatten(given)[0]
    return repr([tuple(x.shape) if isinstance(x, torch.Tensor) else x for x in leaves])


def _is_wrong(derivative: Derivative, given: Tuple[Any, Dict[str, Any]]) -> bool:
    """Whether a derivative is refused, and is so for inputs beside the given ones as well."""
    state = torch.get_rng_state()
    try:
        with torch.enable_grad():
            args, kwargs = given
            if not _refuses(derivative, args, kwargs) or _draws(derivative.function, args, kwargs):
                return False
            moved = [_move(given, seed, step) for seed, step in enumerate(_STEPS)]
            return all(
                _is_exact(derivative.function, *each) and _refuses(derivative, *each)
                for each in moved
            )
    except Exception:  # a function that cannot be differentiated in this way
        return False
    finally:
        torch.set_rng_state(state)


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
        bool(x.isfinite().all()) and (x.dtype in _EXACT or not _is_number(x)) for x in numbers
    )


def _is_number(value: torch.Tensor) -> bool:
    return bool(value.dtype.is_floating_point or value.dtype.is_complex)


def _move(given: Any, seed: int, step: float) -> Any:
    """Other inputs, all of them greater; what is not finite stays."""
    generator = torch.Generator().manual_seed(seed)

    def move(value: Any) -> Any:
        if not isinstance(value, torch.Tensor) or not value.requires_grad:
            return value
        plain = value.detach()
        noise = step * (
            0.5 + torch.rand(plain.shape, generator=generator, dtype=torch.float64, device="cpu")
        )
        beside = plain + noise * plain.abs().clamp_min(1.0)
        return torch.where(torch.isfinite(plain), beside, plain).requires_grad_()

    leaves, spec = tree_flatten(given)
    return tree_unflatten([move(leaf) for leaf in leaves], spec)
