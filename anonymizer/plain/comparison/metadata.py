"""Metadata: one property of what the compiled side returns beside that of eager's."""

from __future__ import annotations

from anonymizer.kinds import EXPORTERS, assert_never
from anonymizer.plain.comparison.call import PlainCall
from anonymizer.plain.script.forms import OF_EACH, PlainForm
from collectors.protocol.repro_words import Property

#: Properties that `torch.testing.assert_close` compares by itself, or by a flag. The strides of
#: dimensions of size 1 count for it, which the harness, that shows the failure too, leaves out.
_COMPARED = {
    **dict.fromkeys((Property.DTYPE, Property.SHAPE, Property.DEVICE), ""),
    Property.STRIDE: ", check_stride=True",
}
#: The statement about two values, `expected` and `actual`.
_ARE_EQUAL = "assert actual == expected, (actual, expected)"


def compare_metadata(call: PlainCall, eager: str, actual: str) -> list[str]:
    """The property of the assertion, or the dtype where it names none.

    Args:
        eager, actual: the call on each side.

    Raises:
        ValueError: the property is none of what is returned.
    """
    name = call.assertion.property or Property.DTYPE
    is_alone = PlainForm.ALONE in call.form
    if PlainForm.EACH in call.form:
        return _compare_sides(OF_EACH[name], eager, actual)
    if name in _COMPARED and not is_alone:
        return [call.write_close(actual, eager, _COMPARED[name])]
    match name:
        case Property.STRUCTURE:
            same = "type({}) is type({})" if is_alone else "len({}) == len({})"
            return ["assert " + same.format(actual, eager)]
        case Property.TYPE:
            return [f"assert type({actual}) is type({eager})"]
        case Property.ALIAS:
            return _compare_aliases(call, eager, actual)
        case Property.PYTHON_VALUE:
            return _compare_sides("{}", eager, actual)
        case Property.STRIDE:
            return _compare_sides("{}.stride()", eager, actual)
        case (
            Property.DTYPE
            | Property.SHAPE
            | Property.DEVICE
            | Property.REQUIRES_GRAD
            | Property.IS_LEAF
        ):
            return _compare_sides(f"{{}}.{name}", eager, actual)
        case Property.SIDE_EFFECT:
            raise ValueError("there is no state to be read")
        case _:
            assert_never(name)


def _compare_aliases(call: PlainCall, eager: str, actual: str) -> list[str]:
    """Whether the output shares memory with what the program is given."""
    has_state = call.script.called.is_module and call.assertion.compiler not in EXPORTERS
    state = ["*model.parameters()", "*model.buffers()"] if has_state else []
    owners, address = [*state, *call.names], "{}.untyped_storage().data_ptr()"
    if not owners:
        raise ValueError("there is nothing to share memory with")
    if len(owners) == 1:
        return _compare_sides(f"{address} == {address.format(owners[0])}", eager, actual)
    each = f"{address.format('t')} for t in ({', '.join(owners)})"
    return [f"owners = [{each}]", *_compare_sides(f"{address} in owners", eager, actual)]


def _compare_sides(template: str, eager: str, actual: str) -> list[str]:
    """An expression, with `{}` for the call, on both sides."""
    values = [f"expected = {template.format(eager)}", f"actual = {template.format(actual)}"]
    return [*values, _ARE_EQUAL]
