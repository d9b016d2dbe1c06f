"""The harness of a wrong derivative: it minds what is refused beside the inputs, too."""

from __future__ import annotations

from typing import Any

import pytest
from torch.autograd.gradcheck import GradcheckError

from anonymizer.graph.repro import FUNCTION_CALL, ReproAssertion, ReproBody
from anonymizer.harness.text import render_harness

ONES = "torch.ones(3, dtype=torch.float64, requires_grad=True)"
KINKS = {
    "relu": ("torch.relu(x)", ONES.replace("ones", "zeros")),
    "clamp": ("x.clamp(-1, 1)", ONES),
    "floor": ("torch.floor(x) + x", ONES),
}


def run(expression: str, made: str, kind: str = "gradcheck", definitions: str = "") -> None:
    body = ReproBody(
        definitions or f"def repro(x):\n    return {expression}",
        "repro",
        (f"return ({made},)",),
        FUNCTION_CALL,
    )
    names: dict[str, Any] = {"__name__": "repro"}
    exec(
        render_harness(body, ReproAssertion("wrong_gradient", compiler="eager", backward=kind)),
        names,
    )
    names["main"]()


@pytest.mark.parametrize("name", KINKS)
def test_a_kink_is_not_wrong(name: str) -> None:
    run(*KINKS[name])


def test_a_derivative_that_is_refused_everywhere_is() -> None:
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        run("torch._weight_norm(x, x[:1])", ONES, "gradgradcheck")


@pytest.mark.parametrize(
    "kind", ["gradcheck", "gradgradcheck", "forward", "over_forward", "over_backward"]
)
def test_nothing_is_wrong_at_a_kink_in_any_mode(kind: str) -> None:
    run("torch.nn.functional.smooth_l1_loss(x, torch.zeros_like(x))", ONES, kind)


def test_a_derivative_that_is_wrong_at_the_inputs_alone_is() -> None:
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        run("torch.sinc(x)", ONES.replace("ones", "zeros"), "gradgradcheck")
    run("torch.sinc(x)", ONES, "gradgradcheck")


UNEVEN = (
    "x * torch.linspace(0, 1, 9).to(x)",
    "torch.full((9,), 3.0, dtype=torch.bfloat16, requires_grad=True)",
)


def test_equal_elements_have_equal_derivatives() -> None:
    run("torch.sin(x)", UNEVEN[1], "elementwise")
    with pytest.raises(AssertionError, match="wrong gradient: equal elements get 0 and 1"):
        run(*UNEVEN, "elementwise")
    with pytest.raises(SystemExit):
        run("torch.sin(x)", "torch.arange(3.0, requires_grad=True)", "elementwise")


def test_what_forward_mode_computes_is_differentiated_again() -> None:
    uneven = ONES.replace("ones(3", "tensor([0.3, -1.2, 2.0]")
    run("torch.softmax(x, 0)", uneven, "over_forward")
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        run("torch.nn.functional.layer_norm(x, (3,))", uneven, "over_forward")


def test_a_gradient_of_torch_func_is_differentiated_again() -> None:
    one = "torch.eye(3, dtype=torch.float64, requires_grad=True)"
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        run("torch.linalg.det(x)", one, "over_backward")
    run("torch.linalg.det(x)", one, "gradgradcheck")
    run("torch.linalg.inv(x)", one, "over_backward")


SQUARE = """class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad

    @staticmethod
    def jvp(ctx, tangent):
        return 2 * ctx.saved_tensors[0]{}


def repro(x):
    return Square.apply(x)
"""


def test_forward_mode_over_itself_is_held_against_backward_mode() -> None:
    """torch 2.13 loses what an `autograd.Function` contributes."""
    run("torch.sin(x)", ONES, "forward_twice")
    with pytest.raises(AssertionError, match="wrong gradient: forward mode has another"):
        run("", ONES, "forward_twice", SQUARE.format(" * tangent"))
    # a formula that is wrong by itself shows nothing
    run("", ONES, "forward_twice", SQUARE.format(""))


def test_single_precision_cannot_tell() -> None:
    with pytest.raises(SystemExit) as ended:
        run("torch.sin(x)", ONES.replace("float64", "float32"))
    assert ended.value.code == 125
