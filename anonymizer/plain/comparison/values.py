"""Values: those of the compiled side beside eager's, or both beside float64."""

from __future__ import annotations

from anonymizer.graph.repro import indent
from anonymizer.kinds import WRONG_VALUES, Differentiation
from anonymizer.plain.comparison.call import PlainCall
from anonymizer.plain.script.forms import PlainForm
from collectors.protocol.repro_words import FARTHER_THAN_EAGER


def compare_values(call: PlainCall, compiled: str, eager: str, actual: str) -> list[str]:
    """The outputs, or what the form compares in their place.

    Args:
        compiled: the compiled callee, as an expression.
        eager, actual: the call on each side.

    Raises:
        ValueError: the form does not fit the program.
    """
    if PlainForm.MUTATED in call.form:
        return _compare_mutated(call, compiled)
    if PlainForm.EXACT in call.form:
        return _compare_distances(call, compiled)
    if PlainForm.RESEED in call.form:
        seed = call.write_own_seed()
        first = [seed, f"expected = {eager}", seed, f"actual = {actual}"]
        return [*first, call.write_close("actual", "expected")]
    if PlainForm.APART in call.form and call.names:
        # the eager side is first, on copies: the compiled one may write
        return [f"expected = {eager}", call.write_close(actual, "expected")]
    return [call.write_close(actual, eager)]


def compare_last_calls(call: PlainCall, compiled: str) -> list[str]:
    """Several calls of each side, on arguments of its own that keep what a call does to them; the
    last results are compared.

    Raises:
        ValueError: the assertion is about more than values.
    """
    if call.assertion.kind not in WRONG_VALUES or call.assertion.backward != Differentiation.NONE:
        raise ValueError("only values are compared")
    return [
        "outs = []",
        f"for call in ({call.eager}, {compiled}):",
        *indent(
            [
                f"args = copy.deepcopy({call.listed})",
                f"outs.append([call(*args) for _ in range({len(call.assertion.calls)})][-1])",
            ]
        ),
        call.write_close("*outs"),
    ]


def _compare_mutated(call: PlainCall, compiled: str) -> list[str]:
    """The inputs after the call, those of both sides."""
    if len(call.names) == 1:
        copied = call.copy_argument(call.names[0])
        return [
            f"expected, actual = {copied}, {copied}",
            f"{call.eager}(expected)",
            f"{compiled}(actual)",
            call.write_close("actual", "expected"),
        ]
    listed = f"({', '.join(call.names)})"
    copies = f"({call.clone_arguments()})" if call.are_apart() else f"copy.deepcopy({listed})"
    return [
        f"expected, actual = {copies}, {listed}",
        f"{call.eager}(*expected)",
        f"{compiled}(*actual)",
        call.write_close("actual", "expected"),
    ]


def _compare_distances(call: PlainCall, compiled: str) -> list[str]:
    """How far both sides are from float64, where no tolerance tells them apart."""
    if call.script.called.is_module or not call.names:
        raise ValueError("float64 needs a program without weights")
    wide = [call.widen(name) for name in call.names]
    given = ", ".join(call.names)
    return [
        f"exact = {call.eager}({', '.join(wide)})",
        "eager, off = [",
        f"    (call({given}) - exact).abs().max().item() for call in ({call.eager}, {compiled})",
        "]",
        f"assert off <= {FARTHER_THAN_EAGER:g} * eager, (",
        f'    f"{call.assertion.kind.replace("_", " ")}: eager is off by {{eager:.4g}}'
        ' from float64, compiled by {off:.4g}"',
        ")",
    ]
