"""A derivative of a torch function as a call that raises where finite differences refuse it.

`torch.autograd.gradcheck` does the arithmetic, in float64.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, cast

import torch
from torch.autograd.gradcheck import GradcheckError
from torch.utils._pytree import tree_flatten, tree_unflatten

from ...protocol.repro_words import TRIANGLES
from ...protocol.starting import DerivativeKind
from . import special_points

#: The arguments of a call, those by position and those by name.
Arguments = Tuple[Any, Dict[str, Any]]
#: Arguments of gradcheck beside those of the function, by what is checked.
_FORWARD = {"check_forward_ad": True, "check_backward_ad": False}
_WIDE = {torch.complex32: torch.complex128, torch.complex64: torch.complex128}
#: How many backward passes a derivative takes.
_BACKWARDS: Dict[DerivativeKind, int] = {
    "gradcheck": 1,
    "gradgradcheck": 2,
    "forward": 0,
    "over_forward": 1,
    "over_backward": 0,
    "forward_twice": 0,
    "in_inference": 0,
}
#: Derivatives of more elements are held against one random direction, not against all.
_MOST_DIRECTIONS = 32
#: By how much of its size a derivative in float64 is another one.
_ALIKE = 1e-6


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
        call, tensors = self._bind((args, kwargs))
        if self.kind == "elementwise":
            return _require_evenness(call, tensors)
        if self.kind == "backward":
            results = [leaf for leaf in tree_flatten(call(*tensors))[0] if _requires_grad(leaf)]
            asked = [tensor for tensor in tensors if tensor.requires_grad]
            flows = [torch.ones_like(result) for result in results]
            torch.autograd.grad(results, asked, flows, allow_unused=True)
            return True
        fast = sum(tensor.numel() for tensor in tensors) > _MOST_DIRECTIONS
        if self.kind == "gradgradcheck":
            return bool(torch.autograd.gradgradcheck(call, tensors, fast_mode=fast))
        more: Dict[str, Any] = _FORWARD if self.kind == "forward" else {}
        if self.kind == "forward_twice":
            return _require_agreement(call, tensors, fast)
        if self.kind == "in_inference":
            return _require_no_inference(call, tensors)
        if self.kind == "over_forward":
            call = _differentiate_forward(call)
        if self.kind == "over_backward":
            call, more = _differentiate_backward(call), {"check_forward_ad": True}
        return bool(torch.autograd.gradcheck(call, tensors, fast_mode=fast, **more))

    def compute(self, given: Arguments) -> special_points.Slope:
        """The derivative that torch computes, and what is differentiated for it, along directions
        of its own that are always the same.
        """
        call, tensors = self._bind(given)
        if self.kind == "over_backward":
            call = _differentiate_backward(call)
        if self.kind == "forward_twice":
            call = _differentiate_forward(call)
        found = values = _list_numbers(call(*tensors))
        if self.kind in ("forward", "over_forward", "over_backward", "forward_twice"):
            found = _list_numbers(_differentiate_forward(call)(*tensors))
        generator = torch.Generator().manual_seed(0)
        for _ in range(_BACKWARDS[self.kind]):
            values = found
            results = [x for x in found if x.requires_grad]
            flows = [_draw_like(x, generator) for x in results]
            asked = [x for x in tensors if x.requires_grad]
            grads = torch.autograd.grad(results, asked, flows, create_graph=True, allow_unused=True)
            found = _list_numbers(grads)
        return special_points.Slope(_flatten(values), _flatten(found))

    def _bind(self, given: Arguments) -> Tuple[Callable[..., Any], Tuple[torch.Tensor, ...]]:
        """The call as one of its tensors alone, and these."""
        leaves, spec = tree_flatten(given)
        places = [at for at, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

        def call(*tensors: torch.Tensor) -> Any:
            filled = list(leaves)
            for at, tensor in zip(places, tensors):
                filled[at] = tensor
            positional, named = tree_unflatten(filled, spec)
            result = self.function(*self._keep_triangle(positional, named), **named)
            if isinstance(result, torch.Tensor):
                return result
            # gradcheck asks each output for its gradient, and numbers have none
            return tuple(leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, torch.Tensor))

        return call, tuple(leaves[at] for at in places)

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


def _list_numbers(results: object) -> List[torch.Tensor]:
    return [x for x in tree_flatten(results)[0] if isinstance(x, torch.Tensor) and is_number(x)]


def _flatten(found: List[torch.Tensor]) -> torch.Tensor:
    """All numbers in one row; the parts of complex ones as two."""
    plain = [x.detach().resolve_conj() for x in found]
    rows = [torch.view_as_real(x) if x.is_complex() else x for x in plain]
    return torch.cat([x.flatten() for x in rows])


def _draw_like(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    drawn = torch.randn(value.shape, generator=generator, dtype=value.dtype, device="cpu")
    return drawn.to(value.device)


def _require_evenness(call: Callable[..., Any], tensors: Tuple[torch.Tensor, ...]) -> bool:
    """Raises GradcheckError where equal elements of the one tensor of a call get different
    derivatives, though each result is computed of one element.
    """
    if len(tensors) != 1 or not tensors[0].requires_grad or tensors[0].is_complex():
        return True
    (given,) = tensors
    result = call(given)
    if not isinstance(result, torch.Tensor) or result.shape != given.shape:
        return True
    (gradient,) = torch.autograd.grad(result, given, torch.ones_like(result))
    apart = special_points.find_uneven(call, given, gradient)
    if apart is not None:
        said = "Jacobian mismatch for equal elements: their derivatives are {:.4g} apart"
        raise GradcheckError(said.format(apart))
    return True


def _require_agreement(
    call: Callable[..., object], tensors: Tuple[torch.Tensor, ...], fast: bool
) -> bool:
    """Raises GradcheckError where forward mode has another derivative of one in forward mode than
    backward mode, and finite differences refuse neither that one nor the first derivative.
    """
    once = _differentiate_forward(call)
    check = functools.partial(torch.autograd.gradcheck, fast_mode=fast, raise_exception=False)
    if not check(call, tensors, **_FORWARD) or not check(once, tensors):
        return True
    generator = torch.Generator().manual_seed(0)
    asked = [x for x in tensors if x.requires_grad]
    results, pushed = (_list_numbers(f(*tensors)) for f in (once, _differentiate_forward(once)))
    flows = [_draw_like(x, generator) for x in results]
    grads = torch.autograd.grad(_multiply(results, flows), asked, allow_unused=True)
    used = [(grad, x.sin()) for grad, x in zip(grads, asked) if grad is not None]
    forward = _multiply(pushed, flows).item()
    backward = _multiply(*zip(*used)).item()
    if not math.isclose(forward, backward, rel_tol=_ALIKE, abs_tol=_ALIKE):
        said = "Jacobian mismatch for forward mode over itself: {:.6g}, and by backward mode {:.6g}"
        raise GradcheckError(said.format(forward, backward))
    return True


def _require_no_inference(call: Callable[..., object], tensors: Tuple[torch.Tensor, ...]) -> bool:
    """Raises GradcheckError where a derivative in forward mode is another one in inference mode."""
    push = _differentiate_forward(call)
    with torch.inference_mode():
        inside = _list_numbers(push(*tensors))
    if not all(map(torch.allclose, inside, _list_numbers(push(*tensors)))):
        raise GradcheckError("Jacobian mismatch for inference mode and outside of it")
    return True


def _multiply(ones: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> torch.Tensor:
    """The real inner product of tensors of the same shapes."""
    products = [(one.conj() * other).sum().real for one, other in zip(ones, others)]
    return torch.stack(products).sum()


def take_own_function(function: Any, args: Tuple[Any, ...]) -> Tuple[Any, Tuple[Any, ...]]:
    """A call of an `autograd.Function` of the program that `torch.func` differentiates, as one of
    its `apply` (`torch/_functorch/autograd_function.py`); any other call as it is.
    """
    if getattr(function, "__name__", "") != "custom_function_call":
        return function, args
    return args[0].apply, args[1:]


def is_own_function(function: object) -> bool:
    """Whether this is the `apply` of an `autograd.Function`."""
    owner = getattr(function, "__self__", None)
    return isinstance(owner, type) and issubclass(owner, torch.autograd.Function)


@contextlib.contextmanager
def leave_modes() -> Iterator[None]:
    """A context in which inference mode, and the transforms of `torch.func` that a call is made in,
    are not there.

    Before 2.1 there is no way out of transforms, and nothing is to be looked at within.
    """
    module = importlib.import_module("torch._functorch.pyfunctorch")
    clear = getattr(module, "temporarily_clear_interpreter_stack", contextlib.nullcontext)
    with clear(), torch.inference_mode(False):
        yield


def is_in_forward_mode() -> bool:
    """Whether a level of forward mode is open, which `torch.func.jvp` opens as well."""
    return bool(getattr(torch.autograd.forward_ad, "_current_level", -1) >= 0)


def widen(args: Any, kwargs: Dict[str, Any]) -> Arguments:
    """The arguments with every floating-point tensor as a leaf in float64 that requires a gradient,
    without what transforms have wrapped around it.

    Returns:
        Copies on the same device; complex tensors are in complex128. Other tensors are copied as
        they are, and what is no tensor is the same object.
    """
    leaves, spec = tree_flatten((args, kwargs))
    return cast(Arguments, tree_unflatten([_make_leaf(x) for x in leaves], spec))


def isolate(args: Any, kwargs: Dict[str, Any]) -> Arguments:
    """The arguments with every tensor that requires a gradient as a leaf, in the dtype it has.

    Returns:
        Copies of these on the same device; all else is the same object.
    """

    def isolate_one(value: Any) -> Any:
        return value.detach().clone().requires_grad_() if _requires_grad(value) else value

    leaves, spec = tree_flatten((args, kwargs))
    made = tree_unflatten([isolate_one(leaf) for leaf in leaves], spec)
    return cast(Arguments, made)


def _requires_grad(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _make_leaf(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    plain = unwrap(value).detach()
    if not is_number(plain):
        return plain.clone()
    dtype = _WIDE.get(plain.dtype, torch.complex128 if plain.dtype.is_complex else torch.float64)
    return plain.to(dtype).clone().requires_grad_()


def unwrap(value: torch.Tensor) -> torch.Tensor:
    """The tensor inside the wrappers of `torch.func`; the first one of a batch."""
    functorch: Any = getattr(torch._C, "_functorch", None)
    if functorch is None or not functorch.is_functorch_wrapped_tensor(value):
        return value
    inside = unwrap(functorch.get_unwrapped(value))
    if functorch.is_batchedtensor(value):
        inside = inside.select(functorch.maybe_get_bdim(value), 0)
    return inside


def _differentiate_forward(call: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative of a function in forward mode, as a function, along a direction without
    symmetry: moving all elements alike leaves a normalized result as it is.
    """

    def differentiate(*tensors: torch.Tensor) -> object:
        return torch.func.jvp(call, tensors, tuple(x.sin() for x in tensors))[1]

    return differentiate


def _differentiate_backward(call: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient of the squares of a function's results, as a function. It is that of
    `torch.func`, for whose tensors some formulas are others (`linalg_det_backward` in
    torch/csrc/autograd/FunctionsManual.cpp).
    """

    def square(*tensors: torch.Tensor) -> torch.Tensor:
        results = _list_numbers(call(*tensors))
        return cast(torch.Tensor, sum(x.abs().square().sum() for x in results))

    def differentiate(*tensors: torch.Tensor) -> object:
        places = tuple(at for at, tensor in enumerate(tensors) if is_number(tensor))
        return torch.func.grad(square, places)(*tensors)

    return differentiate


def is_number(value: torch.Tensor) -> bool:
    return bool(value.dtype.is_floating_point or value.dtype.is_complex)
