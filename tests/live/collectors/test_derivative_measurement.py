"""Derivatives of torch's functions against finite differences: what is wrong, and what a function
may do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.autograd.gradcheck import GradcheckError
from torch.overrides import TorchFunctionMode

from collectors.call.operators.derivative_measurement import DerivativeMeasurement
from collectors.call.operators.derivatives import Derivative

Program = Callable[[], Any]


class Looking(TorchFunctionMode):
    """Has every call looked at, as the recorder does."""

    def __init__(self) -> None:
        super().__init__()
        self.measurement = DerivativeMeasurement()
        self.calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if func.__name__ != "__get__":
            self.measurement.look(self.calls, func, args, named)
            self.calls += 1
        return func(*args, **named)


def leaf(*shape: int, fill: float | None = None) -> torch.Tensor:
    made = torch.randn(shape) if fill is None else torch.full(shape, fill)
    return made.requires_grad_()


def positive() -> torch.Tensor:
    root = torch.randn(3, 3)
    return (root @ root.t() + torch.eye(3)).detach().requires_grad_()


def bend() -> tuple[torch.Tensor, torch.Tensor]:
    return leaf(4, fill=1.0), torch.zeros(4)


def differentiate_twice(function: Callable[..., Any], *given: torch.Tensor) -> None:
    (slope,) = torch.autograd.grad(function(*given).sum(), given[0], create_graph=True)
    slope.sum().backward()


@functools.cache
def own_operator() -> Any:
    """One whose gradient is wrong, which is its author's affair."""

    @torch.library.custom_op("derivatives_test::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    double.register_autograd(lambda ctx, grad: grad * 3)
    return torch.ops.derivatives_test.double


def looked(program: Program) -> list[tuple[str, str]]:
    torch.manual_seed(0)
    with Looking() as mode:
        program()
    return [(each["name"], each["kind"]) for each in mode.measurement.list_wrong()]


RIGHT: dict[str, Program] = {
    "a kink": lambda: F.relu(leaf(4, fill=0.0)).sum().backward(),
    "the edge of a range": lambda: leaf(4, fill=1.0).clamp(-1, 1).sum().backward(),
    "equal largest values": lambda: F.max_pool1d(leaf(1, 1, 8, fill=0.0), 2).sum().backward(),
    "equal sorted values": lambda: leaf(8, fill=1.0).sort().values.sum().backward(),
    "a norm at zero": lambda: leaf(4, fill=0.0).norm().backward(),
    "equal points": lambda: (
        torch.cdist(leaf(3, 2, fill=1.0), leaf(3, 2, fill=1.0)).sum().backward()
    ),
    "a zero vector that is normalized": lambda: F.normalize(leaf(1, 4, fill=0.0)).sum().backward(),
    "a deviation of equal elements": lambda: leaf(4, fill=1.0).std().backward(),
    "the second derivative at a kink": lambda: differentiate_twice(F.relu, leaf(4, fill=0.0)),
    "the second derivative of an absolute value": lambda: differentiate_twice(
        torch.copysign, leaf(4, fill=0.0), torch.ones(4)
    ),
    "a median of equal elements": lambda: leaf(3, fill=1.0).median().backward(),
    "the number beside an equal one": lambda: (
        torch.nextafter(leaf(3, fill=1.0), leaf(3, fill=1.0)).sum().backward()
    ),
    "a point without a value": lambda: torch.fmod(
        leaf(3, fill=0.0), torch.zeros(3, requires_grad=True)
    ).sum().backward(),
    "the second derivative at a bend": lambda: differentiate_twice(F.smooth_l1_loss, *bend()),
    "equal elements of a sum of neighbors": lambda: (
        leaf(9, fill=1.0).cumsum(0).square().sum().backward()
    ),
    "a steep root": lambda: leaf(64, fill=0.0).sqrt().sum().backward(),
    "steps": lambda: leaf(8).round().sum().backward(),
    "random numbers": lambda: F.dropout(leaf(16), 0.5).sum().backward(),
    "weights that are drawn": lambda: torch.nn.Linear(3, 3)(leaf(2, 3)).sum().backward(),
    "eigenvectors": lambda: torch.linalg.eigh(leaf(3, 3)).eigenvectors.sum().backward(),
    "a batch norm": lambda: torch.nn.BatchNorm1d(3)(leaf(4, 3)).sum().backward(),
    "half precision": lambda: F.softmax(leaf(4, 4).half(), -1).sum().backward(),
    "a Hessian": lambda: torch.func.hessian(lambda x: x.sin().prod())(torch.randn(3)),
    "a batch": lambda: (
        torch.func.vmap(torch.func.grad(lambda x: x.squeeze().exp()))(torch.rand(3, 1))
    ),
    "a triangle of a symmetric matrix": lambda: torch.linalg.cholesky(positive()).sum().backward(),
    "values of a symmetric matrix": lambda: torch.linalg.eigvalsh(positive()).sum().backward(),
    "a padding row": lambda: F.embedding(torch.tensor([0, 1]), leaf(2, 3), 0).sum().backward(),
    "a hard sample": lambda: F.gumbel_softmax(leaf(2, 3), hard=True).sum().backward(),
    "an operator of the program's own": lambda: own_operator()(leaf(3)).sum().backward(),
    "a tensor of another layout": lambda: torch.randn(2, 3).to_mkldnn().to_dense(),
    "integers": lambda: torch.bincount(torch.tensor([0, 1, 1])),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_a_function_may_do_is_not_wrong(name: str) -> None:
    assert looked(RIGHT[name]) == []


def test_a_wrong_gradient_is_found() -> None:
    def program() -> None:
        torch.polar(leaf(4, fill=-1.0), leaf(4)).abs().sum().backward()

    assert looked(program) == [("polar", "gradcheck")]


def test_a_wrong_derivative_of_forward_mode_is_found_while_that_mode_is_on() -> None:
    """torch 2.13 and 2.15 have the factors of cholesky_inverse's tangent in the wrong order."""

    def program() -> None:
        factor = torch.tensor([[1.7, 0.0], [1.0, 2.0]], dtype=torch.float64)
        torch.func.jvp(torch.cholesky_inverse, (factor,), (torch.ones_like(factor).tril(),))

    assert looked(program) == [("cholesky_inverse", "forward")]


def test_a_wrong_derivative_of_forward_mode_counts_where_the_program_asks_for_it() -> None:
    """The tangent of layer_norm is made of results whose own tangents torch 2.13 leaves out."""
    rows = torch.tensor([[0.3, -1.2, 0.8, 2.0]], dtype=torch.float64)

    def normalize(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (4,))

    def push(function: Program) -> Any:
        return torch.func.jvp(function, (rows,), (rows.cos(),))[1]

    def push_within(x: torch.Tensor) -> Any:
        return torch.func.jvp(normalize, (x,), (rows.cos(),))[1].square().sum()

    wrong = ("layer_norm", "over_forward")
    assert wrong in looked(lambda: push(push_within))
    assert wrong in looked(lambda: torch.func.grad(push_within)(rows))
    assert looked(lambda: push(normalize)) == []
    assert looked(lambda: torch.func.hessian(lambda x: normalize(x).pow(3).sum())(rows)) == []


class Square(torch.autograd.Function):
    """Of which torch loses the second derivative in nested forward mode."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return 2 * ctx.saved_tensors[0] * grad

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
        return 2 * ctx.saved_tensors[0] * tangent


class Detached(Square):
    """Whose author has left out the second derivative."""

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
        return 2 * ctx.saved_tensors[0].detach() * tangent


def test_a_function_of_the_program_counts_where_only_nested_forward_mode_is_wrong() -> None:
    given = torch.tensor([3.0, -1.0], dtype=torch.float64)

    def differentiate(own: Any, outer: Any, inner: Any) -> list[tuple[str, str]]:
        return looked(lambda: outer(inner(lambda x: own.apply(x).sum()))(given))

    forward, backward = torch.func.jacfwd, torch.func.jacrev
    assert differentiate(Square, forward, forward) == [("apply", "forward_twice")]
    assert differentiate(Square, backward, forward) == []
    assert differentiate(Square, forward, backward) == []
    assert differentiate(Detached, forward, forward) == []


def test_a_derivative_in_inference_mode_is_that_outside_of_it() -> None:
    """Before 2.12 `torch.func` did not leave inference mode, and all derivatives were zero."""
    given = torch.ones(2, dtype=torch.float64, requires_grad=True)
    assert Derivative(torch.sin, "in_inference")(given)
    factors = iter((0.0, 1.0))  # the first call is the one in inference mode
    with pytest.raises(GradcheckError, match="inference mode and outside of it"):
        Derivative(lambda x: x * next(factors), "in_inference")(given)


def test_inference_mode_hides_no_derivative() -> None:
    def program() -> None:
        with torch.inference_mode():
            factor = torch.tensor([[1.7, 0.0], [1.0, 2.0]], dtype=torch.float64)
            torch.func.jvp(torch.cholesky_inverse, (factor,), (torch.ones_like(factor).tril(),))

    assert looked(program) == [("cholesky_inverse", "forward")]


def test_a_gradient_of_torch_func_counts_where_the_program_differentiates_it() -> None:
    """The formula of det for the tensors of torch.func divides by differences of singular values
    in torch 2.13.
    """

    def program(x: torch.Tensor) -> Any:
        return torch.func.hessian(torch.linalg.det)(x)

    same = torch.eye(3, dtype=torch.float64)
    assert looked(lambda: program(same)) == [("linalg_det", "over_backward")]
    assert looked(lambda: program(same + torch.diag(torch.arange(3.0)))) == []
    # plain autograd has another formula, and one derivative alone is right
    assert (
        looked(lambda: differentiate_twice(torch.linalg.det, same.clone().requires_grad_())) == []
    )
    assert looked(lambda: torch.func.grad(torch.linalg.det)(same)) == []


def test_a_triangle_that_is_not_read_has_no_derivative() -> None:
    def program(upper: bool) -> None:
        root = torch.linalg.cholesky(positive().detach(), upper=upper).requires_grad_()
        torch.cholesky_inverse(root, upper).sum().backward()
        torch.cholesky_solve(leaf(3, 2), root, upper=upper).sum().backward()

    assert looked(lambda: program(False)) == []
    assert looked(lambda: program(True)) == []


def test_a_wrong_second_derivative_counts_where_the_program_asks_for_one() -> None:
    def program(twice: bool) -> None:
        weight = leaf(3, 4)
        made = torch._weight_norm(weight, leaf(3, 1, fill=1.0), 0).sin().sum()
        torch.autograd.grad(made, weight, create_graph=twice)

    assert looked(lambda: program(True)) == [("_weight_norm", "gradgradcheck")]
    assert looked(lambda: program(False)) == []


def test_a_wrong_second_derivative_at_a_single_point_is_found() -> None:
    """torch 2.13 multiplies by zero there what has a limit (`sinc_backward`)."""
    assert looked(lambda: differentiate_twice(torch.sinc, leaf(3, fill=0.0))) == [
        ("sinc", "gradgradcheck")
    ]
    assert looked(lambda: differentiate_twice(torch.sinc, leaf(3, fill=0.5))) == []


class Uneven(torch.autograd.Function):
    """Hardswish as its kernel is in torch 2.6: another gradient at 3 in the vectorized part."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return F.hardswish(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        slope = (x / 3 + 0.5).flatten()
        slope[:8][x.flatten()[:8] >= 3] = 1.0
        return grad * slope.reshape(x.shape)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_equal_elements_have_equal_derivatives(dtype: torch.dtype) -> None:
    at_bend = torch.full((1, 9), 3.0, dtype=dtype, requires_grad=True)
    derivative = Derivative(Uneven.apply, "elementwise")
    with pytest.raises(GradcheckError, match="equal elements: their derivatives are 0.5 apart"):
        derivative(at_bend)
    assert derivative(at_bend.detach().fill_(1.0).requires_grad_())
    assert Derivative(F.hardswish, "elementwise")(at_bend)


def test_what_is_computed_of_several_elements_may_have_any_derivatives() -> None:
    weights = torch.arange(4.0)
    given = torch.ones(4, requires_grad=True)
    assert Derivative(lambda x: x.cumsum(0), "elementwise")(given)
    assert Derivative(lambda x: x * weights, "elementwise")(given)


def test_a_number_among_the_outputs_has_no_derivative_to_be_checked() -> None:
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    kinds: tuple[Any, ...] = ("gradcheck", "forward", "gradgradcheck", "backward")
    for kind in kinds:
        assert Derivative(lambda y: (y.sin(), 3), kind)(x)
