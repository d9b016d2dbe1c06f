"""Gradients: those of the compiled side beside eager's, in backward or in forward mode."""

from __future__ import annotations

from anonymizer.graph.randomness import write_seed
from anonymizer.graph.repro import indent
from anonymizer.kinds import EXPORTERS, Differentiation, Kind
from anonymizer.plain.comparison.call import PlainCall
from anonymizer.plain.script.forms import PlainForm


def compare_gradients(call: PlainCall, compiled: str, eager: str, actual: str) -> list[str]:
    """The gradients with respect to the arguments and to the model's own parameters.

    Args:
        compiled: the compiled callee, as an expression.
        eager, actual: the call on each side.

    Raises:
        ValueError: nothing has a gradient.
    """
    of_model = _write_parameters(call)
    if not call.script.leaves and not of_model:
        raise ValueError("no gradient is asked for")
    asked = _write_leaves(call, of_model)
    if PlainForm.OUTSIDE in call.form:
        return _compare_outside(call, asked, eager, actual)
    if PlainForm.IN_TURN in call.form or call.assertion.backward == Differentiation.RANDN:
        return _compare_in_turn(call, asked, compiled)
    if len(call.script.leaves) == 1 and not of_model:
        return _compare_leaf(call, call.script.leaves[0], eager, actual)
    more = _write_materialize(call)
    grads = [
        f"{name} = torch.autograd.grad({call.sum_outputs(side)}, {asked}{more})"
        for name, side in (("expected", eager), ("actual", actual))
    ]
    if of_model:
        grads = [f"leaves = {asked}", *(line.replace(asked, "leaves") for line in grads)]
    if PlainForm.RESEED in call.form:
        grads = [line for one in grads for line in (call.write_own_seed(), one)]
    return [*grads, call.write_close("actual", "expected")]


def _write_parameters(call: PlainCall) -> str:
    """The parameters of the module itself whose gradients are compared; "" where none are."""
    # of an exported program the arguments' gradients are enough where there are some
    is_needed = not (call.script.leaves and call.assertion.compiler in EXPORTERS)
    has_own = call.script.called.is_module and is_needed and call.assertion.shares_parameters()
    return f"{call.eager}.parameters()" if has_own else ""


def _write_leaves(call: PlainCall, of_model: str) -> str:
    """What gradients are asked with respect to, as an expression."""
    listed = ", ".join(call.script.leaves)
    if of_model:
        return f"[{listed}, *{of_model}]" if listed else f"list({of_model})"
    return f"({listed})" if len(call.script.leaves) > 1 else listed


def _write_materialize(call: PlainCall) -> str:
    """What gives zeros for a gradient that there is none of."""
    return ", materialize_grads=True" if PlainForm.UNUSED in call.form else ""


def _compare_outside(call: PlainCall, asked: str, eager: str, actual: str) -> list[str]:
    """Both sides in the contexts of the call, and their gradients after these."""
    more = ", allow_unused=True" if PlainForm.UNUSED in call.form else ""
    grad = f"torch.autograd.grad({call.sum_outputs('out')}, {asked}{more})"
    return [
        *call.put_inside([f"outs = {eager}, {actual}"]),
        f"expected, actual = ({grad} for out in outs)",
        call.write_close("actual", "expected"),
    ]


def _compare_leaf(call: PlainCall, leaf: str, eager: str, actual: str) -> list[str]:
    """The gradient of the only argument that has one."""
    expected = [
        f"{call.sum_outputs(eager)}.backward()",
        f"expected, {leaf}.grad = {leaf}.grad, None",
    ]
    found = [
        f"{call.sum_outputs(actual)}.backward()",
        call.write_close(f"{leaf}.grad", "expected"),
    ]
    seed = [call.write_own_seed()] if PlainForm.RESEED in call.form else []
    return [*seed, *expected, *seed, *found]


def _compare_in_turn(call: PlainCall, asked: str, compiled: str) -> list[str]:
    """Both sides in a loop, each with the same random gradients of its outputs."""
    outputs, more = call.write("call"), _write_materialize(call)
    lines = ["grads = []", f"for call in ({call.eager}, {compiled}):"]
    if PlainForm.RESEED in call.form:
        lines.append(f"    {call.write_own_seed()}")
    tangent_seed = write_seed(call.assertion.list_seeds()[1])
    if call.assertion.backward != Differentiation.RANDN:
        lines.append(f"    out = {call.sum_outputs(outputs)}")
        lines.append(f"    grads.append(torch.autograd.grad(out, {asked}, allow_unused=True))")
    elif PlainForm.SEVERAL in call.form:
        lines += [
            f"    outs = [out for out in {outputs} if out.requires_grad]",
            f"    {tangent_seed}",
            "    tangents = [torch.randn(out.shape).to(out) for out in outs]",
            f"    grads.append(torch.autograd.grad(outs, {asked}, tangents{more}))",
        ]
    else:
        lines += [
            f"    out = {outputs}",
            f"    {tangent_seed}",
            f"    grads.append(torch.autograd.grad(out, {asked}, torch.randn_like(out)))",
        ]
    return [*lines, "torch.testing.assert_close(*grads)"]


def compare_tangents(call: PlainCall, compiled: str) -> list[str]:
    """The outputs of both sides with their tangents, or the compiled call where it is what fails;
    the inputs are moved all alike.

    Args:
        compiled: the compiled callee, as an expression.

    Raises:
        ValueError: the form is not the plainest.
    """
    if PlainForm.PLAINEST != call.form:
        raise ValueError("the outputs are one tensor")
    forward_ad = "torch.autograd.forward_ad"
    duals = [
        f"{name} = {forward_ad}.make_dual({name}, torch.ones_like({name}))"
        for name in call.names
        if not call.is_whole(name)
    ]
    shown = [call.write(compiled)]
    if call.assertion.kind == Kind.WRONG_GRADIENT:
        outputs = call.write("call")
        shown = [
            f"outs = [{forward_ad}.unpack_dual({outputs}) for call in ({compiled}, {call.eager})]",
            call.write_close("*outs"),
        ]
    return [f"with {forward_ad}.dual_level():", *indent([*duals, *shown])]
