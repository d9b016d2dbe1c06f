"""The function `main` of a harness that holds derivatives in eager mode against finite differences,
as `collectors.call.operators.special_points` does.
"""

from __future__ import annotations

from anonymizer.graph.randomness import write_seed
from anonymizer.graph.repro import DERIVATIVE_CHECKS, ReproAssertion
from anonymizer.kinds import Differentiation
from collectors.protocol.repro_words import (
    ALIKE,
    BESIDE_POINT,
    CANNOT_JUDGE_STATEMENT,
    LEAST_OFF,
    STANDS_OUT_BESIDE_POINT,
)

#: The derivative in forward mode of what finite differences are held against.
_FORWARD = "torch.func.jvp(run, tuple(args), tuple(each.sin() for each in args))[1]"
#: The gradient that `torch.func` makes, as a function.
_GRADIENT = "torch.func.grad(lambda *xs: run(*xs).square().sum())"
#: By the `backward` of an assertion: what finite differences are held against, what is
#: differentiated, and by how many backward passes.
_COMPUTED = {
    Differentiation.GRADCHECK: ("run(*args)", "run(*args)", 1),
    Differentiation.GRADGRADCHECK: ("run(*args)", "run(*args)", 2),
    Differentiation.FORWARD: ("run(*args)", _FORWARD, 0),
    Differentiation.OVER_FORWARD: ("run(*args)", _FORWARD, 1),
    Differentiation.OVER_BACKWARD: (f"{_GRADIENT}(*args)", _FORWARD.replace("run", _GRADIENT), 0),
}


def check_derivative(assertion: ReproAssertion) -> list[str]:
    """The steps of `main`. At a kink nothing is wrong: what is refused has to be refused beside the
    inputs, too, or the derivative is continuous around them and another one at them.
    """
    if assertion.backward == Differentiation.ELEMENTWISE:
        return _compare_equal_elements(assertion)
    if assertion.backward == Differentiation.FORWARD_TWICE:
        return [*_make_inputs(assertion), *_compare_modes()]
    if assertion.backward == Differentiation.IN_INFERENCE:
        return [*_make_inputs(assertion), *_compare_with_inference()]
    return [
        *_make_inputs(assertion),
        *_compute_derivative(assertion),
        "for step in (0.0, 1e-3, 0.3):",
        "    args = move(step)",
        "    try:",
        f"        {DERIVATIVE_CHECKS[assertion.backward].format('run', 'args')}",
        "    except RuntimeError as error:",
        "        refused = error",
        "    else:",
        "        if step == 0.0:",
        "            return",
        "        value, there = compute(0.0)",
        f"        steps = {BESIDE_POINT}",
        "        near = [compute(*where) for where in steps]",
        "        limits = torch.stack([slope for _, slope in near])",
        "        spread = (limits - limits.mean(0)).abs().max()",
        "        size = limits.abs().max().clamp(min=1.0)",
        "        off = (there - limits.mean(0)).abs().nan_to_num(nan=math.inf).max()",
        "        jump = max((each - value).abs().max() for each, _ in near[2:])",
        f"        smooth = jump < {ALIKE} * max(1.0, value.abs().max())",
        f"        smooth = smooth and spread < {ALIKE} * size",
        f"        least = max({STANDS_OUT_BESIDE_POINT} * spread, {LEAST_OFF} * size)",
        "        if not (smooth and off > least):",
        "            return",
        "raise refused",
    ]


def _make_inputs(assertion: ReproAssertion) -> list[str]:
    """`move(step)`, which makes the arguments, moved at random; float64 has to be there."""
    return [
        write_seed(assertion.seed),
        "given = inputs()",
        "numbers = [x for x in given if x.is_floating_point() or x.is_complex()]",
        "wide = (torch.float64, torch.complex128)",
        "exact = all(x.dtype in wide for x in numbers)",
        "if not exact or not any(x.requires_grad for x in given):",
        f"    {CANNOT_JUDGE_STATEMENT}",
        "def move(step, shift=0):",
        "    args = [",
        "        (x + step * (0.5 + torch.rand_like(x).roll(shift))).detach()",
        "        if x.dtype in wide else x",
        "        for x in given",
        "    ]",
        "    for x, moved in zip(given, args):",
        "        moved.requires_grad_(x.requires_grad)",
        "    return args",
    ]


def _compute_derivative(assertion: ReproAssertion) -> list[str]:
    """`compute(step)`: what is differentiated and the derivative, each in a row, along the same
    directions each time, at inputs moved by a step.
    """
    values, differentiated, passes = _COMPUTED[assertion.backward]
    return [
        "def flatten(found):",
        "    found = [torch.view_as_real(x) if x.is_complex() else x for x in found]",
        "    return torch.cat([x.detach().flatten() for x in found])",
        "def compute(step, shift=0):",
        f"    {write_seed(assertion.list_seeds()[1])}",
        "    args = move(step, shift)",
        f"    values = {values}",
        f"    found = {differentiated}",
        "    values, found = (",
        "        x if isinstance(x, (tuple, list)) else [x] for x in (values, found)",
        "    )",
        f"    for _ in range({passes}):",
        "        values = found",
        "        parts = [(x * torch.rand_like(x)).sum().real for x in found if x.requires_grad]",
        "        asked = [x for x in args if x.requires_grad]",
        "        found = torch.autograd.grad(",
        "            sum(parts), asked, create_graph=True, allow_unused=True",
        "        )",
        "        found = [x for x in found if x is not None]",
        "    return flatten(values), flatten(found)",
    ]


def _compare_equal_elements(assertion: ReproAssertion) -> list[str]:
    """Where all elements are equal and each result is computed of one, so are the derivatives."""
    return [
        write_seed(assertion.seed),
        "args = inputs()",
        "if len(args) != 1 or len(args[0].unique()) != 1:",
        f"    {CANNOT_JUDGE_STATEMENT}",
        "low, high = torch.autograd.grad(run(*args).sum(), args)[0].aminmax()",
        "limit = torch.finfo(low.dtype).eps ** 0.5",
        "assert torch.allclose(low, high, rtol=limit), (",
        '    f"wrong gradient: equal elements get {low:.4g} and {high:.4g}"',
        ")",
    ]


def _compare_modes() -> list[str]:
    """Forward mode beside backward mode, each over forward mode, at the inputs and beside them,
    where the first derivative in forward mode is right, along no axis, too.
    """
    return [
        "def push(size):",
        "    flows = tuple(size * x.sin() for x in args)",
        "    return torch.func.jvp(lambda *xs: run(*xs).sum(), tuple(args), flows)[1]",
        "def derive(outer):",
        "    return outer(torch.func.jacfwd(lambda xs: run(*xs)))(tuple(args))",
        "for step in (0.0, 1e-3, 0.3):",
        "    args = move(step)",
        "    is_right = torch.allclose(2 * push(1), push(2)) and torch.autograd.gradcheck(",
        "        run, args, check_forward_ad=True, check_backward_ad=False, raise_exception=False",
        "    )",
        "    forward, backward = [",
        "        torch.utils._pytree.tree_flatten(derive(outer))[0]",
        "        for outer in (torch.func.jacfwd, torch.func.jacrev)",
        "    ]",
        "    if not is_right or all(map(torch.allclose, forward, backward)):",
        "        return",
        'raise AssertionError("wrong gradient: forward mode has another than backward mode")',
    ]


def _compare_with_inference() -> list[str]:
    """Forward mode in inference mode beside that outside of it."""
    return [
        "args = tuple(move(0.0))",
        "inside, outside = [",
        "    torch.utils._pytree.tree_flatten(",
        "        torch.inference_mode(mode)(torch.func.jvp)(run, args, args)[1]",
        "    )[0]",
        "    for mode in (True, False)",
        "]",
        "assert all(map(torch.allclose, inside, outside)), (",
        '    "wrong gradient: inference mode has another"',
        ")",
    ]
