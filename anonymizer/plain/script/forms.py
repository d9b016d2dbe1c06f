"""The ladder of plain forms: which of them may show a failure, the plainest first."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from anonymizer.graph.compilation import is_reloaded
from anonymizer.graph.repro import ReproAssertion
from anonymizer.kinds import EXPORTERS, WRONG_VALUES, Compiler, Differentiation, Kind
from collectors.protocol.repro_words import CACHED, Property

#: What is compared of each output of a tuple, by property; of shared memory, how many there are.
OF_EACH = {
    Property.TYPE: "[type(out) for out in {}]",
    Property.PYTHON_VALUE: "[out for out in {} if not isinstance(out, torch.Tensor)]",
    Property.STRIDE: "[out.stride() for out in {}]",
    Property.ALIAS: "len({{out.untyped_storage().data_ptr() for out in {}}})",
    **{
        name: f"[out.{name} for out in {{}}]"
        for name in (
            *(Property.DTYPE, Property.SHAPE, Property.DEVICE),
            *(Property.REQUIRES_GRAD, Property.IS_LEAF),
        )
    },
}


class PlainForm(enum.Flag):
    """How the eager and the compiled side are kept apart, and what is compared."""

    #: One call, one comparison, nothing else.
    PLAINEST = 0
    #: Each side has inputs, and a module, of its own.
    APART = enum.auto()
    #: Each side draws the same random numbers: those of the assertion's seed, or of another
    #: of `_SEEDS`.
    RESEED = enum.auto()
    SEED_1 = enum.auto()
    SEED_2 = enum.auto()
    #: NaN is equal to NaN.
    EQUAL_NAN = enum.auto()
    #: The gradients of several outputs are added up.
    SEVERAL = enum.auto()
    #: The inputs are compared after the call.
    MUTATED = enum.auto()
    #: Dtypes are not compared: those of wrong values may differ as well.
    UNTYPED = enum.auto()
    #: Both sides are compared with float64.
    EXACT = enum.auto()
    #: One property is compared, and no values.
    ALONE = enum.auto()
    #: That property of every output of a tuple.
    EACH = enum.auto()
    #: Both sides are called in a loop.
    IN_TURN = enum.auto()
    #: Gradients are asked for after the `with` statements around the call.
    OUTSIDE = enum.auto()
    #: No seed is set at the top, though something is random.
    UNSEEDED = enum.auto()
    #: The program is exported, and not called.
    EXPORTED = enum.auto()
    #: It is exported and saved, and not loaded.
    SAVED = enum.auto()
    #: The only output is taken out of the tuple that is returned.
    FIRST = enum.auto()
    #: What gradients are asked for may have none; beside others that counts as zero.
    UNUSED = enum.auto()
    #: Both sides call one program; what each adds to a container is compared.
    COUNTED = enum.auto()
    #: Each side runs all statements of a script.
    WHOLE = enum.auto()


#: The seeds of a program that draws random numbers: those of `ReproAssertion.list_seeds`.
_SEEDS = (PlainForm.PLAINEST, PlainForm.SEED_1, PlainForm.SEED_2)
#: Without and with random numbers of the program's own.
_DRAWS = (PlainForm.PLAINEST, PlainForm.RESEED)


def list_plain_forms(
    assertion: ReproAssertion, draws: bool, is_script: bool = False
) -> Iterator[PlainForm]:
    """The forms that may show a failure of the assertion's kind, the plainest first.

    Args:
        is_script: whether the program is a script up to its failing call.
        draws: whether the program draws random numbers while it runs; then values can be compared
            only where both sides draw the same. What a script draws before its call does not count.
    """
    reseeds = draws and assertion.kind in WRONG_VALUES
    for form in _list_forms(assertion):
        if (PlainForm.RESEED in form) == reseeds:
            yield form
    if is_script:
        yield from (
            f for f in _list_script_forms(assertion) if PlainForm.RESEED in f or not reseeds
        )


def _list_forms(assertion: ReproAssertion) -> Iterator[PlainForm]:
    yield from _list_exported_forms(assertion)
    if assertion.property == Property.SIDE_EFFECT:
        yield from (PlainForm.COUNTED, PlainForm.PLAINEST)
        return
    if assertion.contexts and assertion.backward == Differentiation.SUM:
        yield PlainForm.OUTSIDE
        if assertion.kind == Kind.WRONG_GRADIENT:
            yield PlainForm.OUTSIDE | PlainForm.UNUSED
    yield PlainForm.PLAINEST
    if assertion.compiler == Compiler.EAGER:
        if assertion.backward == Differentiation.NONE:
            yield PlainForm.EQUAL_NAN
    elif assertion.kind not in WRONG_VALUES:
        yield from _list_forms_without_values(assertion)
    elif CACHED in assertion.config and assertion.backward == Differentiation.SUM:
        yield from (PlainForm.EQUAL_NAN, PlainForm.APART, PlainForm.SEVERAL)
    elif assertion.backward == Differentiation.TANGENTS:
        return
    elif assertion.kind == Kind.WRONG_GRADIENT or assertion.backward != Differentiation.NONE:
        yield from _list_gradient_forms(assertion)
    else:
        yield from _list_value_forms(assertion)


def _list_exported_forms(assertion: ReproAssertion) -> Iterator[PlainForm]:
    fails_alone = assertion.kind == Kind.CRASH and not assertion.calls
    if assertion.compiler in EXPORTERS and fails_alone:
        if is_reloaded(assertion):
            yield PlainForm.SAVED
        yield PlainForm.EXPORTED
    if assertion.compiler == Compiler.ONNX and assertion.kind != Kind.CRASH:
        yield PlainForm.FIRST
        yield PlainForm.FIRST | PlainForm.EQUAL_NAN


def _list_forms_without_values(assertion: ReproAssertion) -> Iterator[PlainForm]:
    if assertion.kind == Kind.WRONG_METADATA:
        yield from (PlainForm.APART, PlainForm.ALONE)
        if assertion.property in OF_EACH:
            yield PlainForm.EACH
    if assertion.backward not in (Differentiation.NONE, Differentiation.TANGENTS):
        yield PlainForm.SEVERAL


def _list_gradient_forms(assertion: ReproAssertion) -> Iterator[PlainForm]:
    yield from (PlainForm.EQUAL_NAN, PlainForm.SEVERAL, *_list_reseeded())
    yield from (PlainForm.IN_TURN, PlainForm.IN_TURN | PlainForm.RESEED)
    yield PlainForm.IN_TURN | PlainForm.SEVERAL | PlainForm.RESEED
    if assertion.kind == Kind.WRONG_GRADIENT:
        yield from (PlainForm.SEVERAL | PlainForm.UNUSED | more for more in _DRAWS)


def _list_value_forms(assertion: ReproAssertion) -> Iterator[PlainForm]:
    yield from (PlainForm.EQUAL_NAN, PlainForm.UNTYPED, *_list_reseeded(), PlainForm.APART)
    if assertion.compare_inputs:
        yield PlainForm.MUTATED
    yield from (PlainForm.APART | PlainForm.EQUAL_NAN, PlainForm.APART | PlainForm.RESEED)
    if assertion.double:
        yield PlainForm.EXACT


def _list_script_forms(assertion: ReproAssertion) -> Iterator[PlainForm]:
    """Those in which each side has all objects of the script for itself."""
    if assertion.kind in WRONG_VALUES and assertion.backward == Differentiation.NONE:
        for more in (PlainForm.PLAINEST, PlainForm.EQUAL_NAN, PlainForm.RESEED):
            yield PlainForm.WHOLE | more


def _list_reseeded() -> Iterator[PlainForm]:
    """The same random numbers on both sides; not all of them need to show a failure."""
    return (PlainForm.RESEED | seed for seed in _SEEDS)
