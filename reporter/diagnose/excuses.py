"""What excuses a difference: each excuse with its measurement, and what it may explain.

They are asked in groups (`OF_EAGER`, `OF_EXCEPTIONS`, `OF_RANDOM_NUMBERS`, `OF_VALUES`), each in
its order; `EXCUSES` joins them for the reference. An excuse counts only if it explains everything
that differs: a measurement that moves values says nothing of a dtype, a stride or an alias, and of
a shape only where eager's own shape moves with it. The documentation shows this table. Files of
torch that are named below are those of 2.13.0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from collectors.protocol.comparison import Comparison, TensorRole
from collectors.protocol.repro_words import Property
from reporter.core.kinds import EXPORTERS, Backend, Kind, Layer, RungOutcome
from reporter.diagnose.comparisons import describe, list_significant_differences
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.ladder import LadderRunner, MeasuredRung, describe_reference
from reporter.diagnose.measuring import make_diagnosis
from reporter.diagnose.rungs import (
    AGAIN,
    COMPILED,
    EAGER,
    EMULATED_CASTS,
    EXACT,
    EXPORT,
    FALLBACK_RANDOM,
    FILLED,
    KEPT_DRAWS,
    NUDGED,
    NUMPY,
    ONNX_RUNTIME,
    PACKAGE,
    PERTURBED,
    PERTURBED_DOWN,
    RECAST,
    REORDERED,
    RESUMMED,
    TORCH_COMPILE_RANDOM,
    UNCACHED,
    UNDECLARED,
)
from reporter.diagnose.shifts import SIZES, find_shift, moves

#: Eager may be off float64 by so much of the values' size before a verdict says so.
_FAR_OFF = 0.1
#: The compiled result is as close to float64 as eager within this factor, and this share of the
#: values' size.
_AS_CLOSE, _OF_SIZE = 3.0, 1e-5
#: Properties of a comparison that are values, of tensors or of Python.
VALUES = frozenset({*TensorRole, Property.PYTHON_VALUE})
_VALUES_AND_SIZES = VALUES | SIZES
#: The same, and what the program does to Python's state: with eager's random numbers all of it must
#: be gone.
_ALL_DRAWN = _VALUES_AND_SIZES | {Property.SIDE_EFFECT}

#: What raised, by the class of its exception.
EXCEPTIONS = frozenset(("exception",))

_Ask = Callable[[LadderRunner, MeasuredRung], "Diagnosis | None"]


@dataclass(frozen=True)
class Excuse:
    """One way in which a difference is nobody's fault.

    `rungs` are its measurements, `explains` the properties that they can excuse. `ask` measures,
    and judges the given rung of the compiled call.
    """

    kind: Kind
    rungs: tuple[str, ...]
    explains: frozenset[str]
    ask: _Ask


def _list_wrong_properties(rung: MeasuredRung) -> frozenset[str]:
    """What differs: of the values those that the rule minds, or all if it minds none."""
    comparison = rung.comparison
    if comparison is None:
        return EXCEPTIONS
    values = [
        item["property"]
        for item in list_significant_differences(comparison) or comparison["values"]
    ]
    return frozenset((*values, *(item["property"] for item in comparison["metadata"])))


def differs(rung: MeasuredRung) -> bool:
    """Whether a rung returned something that the rule minds."""
    return rung.outcome == RungOutcome.DIFFERS


def excuse(
    runner: LadderRunner, compiled: MeasuredRung, excuses: tuple[Excuse, ...]
) -> Diagnosis | None:
    """The verdict of the first excuse that explains all that differs in a rung, or None.

    Args:
        runner: measures the rungs that the excuses need.
        compiled: a rung that differs from eager, or raises.
        excuses: in the order in which they are asked.
    """
    wrong = _list_wrong_properties(compiled)
    for one in excuses:
        found = one.ask(runner, compiled) if wrong <= one.explains else None
        if found is not None:
            return found
    return None


# -- eager alone ----------------------------------------------------------------------------------


def _excuse_uninitialized_memory(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """Memory that an operator hands out and nothing writes to; filled, eager's result changes."""
    names = ", ".join(runner.ladder.facts.get("uninitialized") or ())
    if not names:
        return None
    filled = runner.measure(FILLED)
    if not differs(filled) or not moves(filled.comparison, compiled.comparison):
        return None
    changed = filled.detail.replace(" in eager", " as it is").replace(" compiled", " filled")
    summary = (
        f"The result depends on memory that {names} hands out and nothing writes to: filling"
        f" that memory changes eager's own result ({changed})."
    )
    return make_diagnosis(runner, Kind.UNINITIALIZED_MEMORY, Layer.EAGER, summary, (EAGER, FILLED))


def _excuse_unsteady_eager(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """Eager differs from eager."""
    again = runner.ladder[AGAIN]
    if not differs(again) or not moves(again.comparison, compiled.comparison):
        return None
    summary = f"Eager differs from eager: {again.detail}."
    return make_diagnosis(runner, Kind.NONDETERMINISTIC, Layer.EAGER, summary, (EAGER, AGAIN))


def _excuse_undeclared_write(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """An operator of the program's own writes where its schema says that it does not: see
    `mutates_args` of `torch.library.custom_op` (`torch/_library/custom_ops.py`).
    """
    names = runner.ladder.facts.get("undeclared_writes") or ()
    if not names:
        return None
    without = runner.measure(UNDECLARED)
    if not differs(without) or not moves(without.comparison, compiled.comparison):
        return None
    summary = (
        f"The program's own operator {names[0]} writes to an argument that its schema does not name"
        f" (mutates_args): without such writes eager differs as well ({without.detail})."
    )
    cited = (EAGER, COMPILED, UNDECLARED)
    return make_diagnosis(runner, Kind.INVALID_PROGRAM, Layer.NONE, summary, cited)


def _excuse_ignored_cache(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """Eager moves as far once functions are called whose results `functools.lru_cache` holds.

    Dynamo warns of it in `WrapperUserFunctionVariable` (`torch/_dynamo/variables/functions.py`).
    """
    if not differs(runner.ladder[Backend.EAGER.value]):
        return None
    without = runner.measure(UNCACHED)
    if not differs(without) or not moves(without.comparison, compiled.comparison):
        return None
    summary = (
        "Dynamo traces functions under functools.lru_cache and ignores their caches, as it warns:"
        f" without these caches eager differs as well ({without.detail}). Call such a function"
        " outside of what is compiled."
    )
    cited = (EAGER, COMPILED, UNCACHED)
    return make_diagnosis(runner, Kind.UNSUPPORTED, Layer.DYNAMO, summary, cited)


def _excuse_frozen_state(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """An exported program keeps what its module held when it was exported: Python values are
    constants in it (`torch.export`, "Static Values"), and a package or a file has its own weights.
    """
    own = runner.find_own_rung()
    if runner.finding.original.compiler not in EXPORTERS or not differs(runner.ladder[COMPILED]):
        return None
    if not runner.measure(own).agrees:
        return None
    summary = (
        "The module holds something else by now than when it was exported, which an exported"
        f" program does not see ({compiled.detail}): exported from what the module holds now, it"
        " agrees with eager. Parameters and buffers can change, Python values are constants."
    )
    cited = (EAGER, COMPILED, own)
    return make_diagnosis(runner, Kind.UNSUPPORTED, Layer.NONE, summary, cited)


def _excuse_error_from_memory(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """Eager raises the same class of exception once the memory that nothing writes to is filled."""
    names = ", ".join(runner.ladder.facts.get("uninitialized") or ())
    if not names or compiled.failure is None:
        return None
    filled = runner.measure(FILLED)
    wanted = compiled.failure["exception"]
    if filled.failure is None or filled.failure["exception"] != wanted:
        return None
    summary = (
        f"The call depends on memory that {names} hands out and nothing writes to: with that memory"
        f" filled, eager raises {wanted}, too."
    )
    return make_diagnosis(
        runner, Kind.UNINITIALIZED_MEMORY, Layer.EAGER, summary, (EAGER, COMPILED, FILLED)
    )


# -- random numbers -------------------------------------------------------------------------------


def _excuse_numpy_draws(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """NumPy's random numbers are torch's in compiled code unless it is told otherwise, by
    `use_numpy_random_stream` (`torch/_dynamo/config.py`).
    """
    if "numpy" not in (runner.ladder.facts.get("streams") or ()) or not differs(compiled):
        return None
    if not runner.measure(NUMPY).agrees:
        return None
    return make_diagnosis(
        runner,
        Kind.RNG,
        Layer.NONE,
        "The difference is NumPy's random stream, which compiled code replaces by torch's: with"
        " torch._dynamo.config.use_numpy_random_stream = True and the same state of it the result"
        f" agrees with eager (without: {compiled.detail}).",
        (EAGER, COMPILED, NUMPY),
        comparison=compiled.comparison,
    )


def _excuse_draws_of_onnx_runtime(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """ONNX Runtime draws by itself, and nothing makes it draw as eager does."""
    if (
        not runner.ladder.facts.get("random")
        or runner.find_own_rung() != ONNX_RUNTIME
        or compiled.agrees
    ):
        return None
    if not runner.measure(EXPORT).agrees:
        return None
    summary = (
        "The difference is the random stream: ONNX Runtime draws random numbers of its own. The"
        " exported program agrees with eager from the same state of the generator (in ONNX Runtime:"
        f" {compiled.detail}). A module in training mode draws them for its dropout; eval() leaves"
        " that out."
    )
    return make_diagnosis(
        runner,
        Kind.RNG,
        Layer.NONE,
        summary,
        (EAGER, EXPORT, COMPILED),
        comparison=compiled.comparison,
    )


def _excuse_random_numbers(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """Random operators: compare again with eager's own random stream before blaming anyone, which
    Inductor takes under `fallback_random` (`torch/_inductor/config.py`).
    """
    if not runner.ladder.facts.get("random"):
        return None
    is_package = runner.find_own_rung() == PACKAGE
    if runner.find_own_rung() != Backend.INDUCTOR and not is_package or compiled.agrees:
        return None
    # what comes to Inductor draws as eager does, or random numbers are no excuse; a package is
    # compiled by torch.compile then, as AOTInductor has no such setting
    below = EXPORT if is_package else Backend.AOT_EAGER.value
    name = TORCH_COMPILE_RANDOM if is_package else FALLBACK_RANDOM
    forced = runner.measure(name)
    if not forced.agrees or differs(runner.ladder[below]):
        return None
    return make_diagnosis(
        runner,
        Kind.RNG,
        Layer.NONE,
        "The difference is the random stream: with torch._inductor.config.fallback_random = True"
        f" and the same seed the compiled result agrees with eager (without: {compiled.detail}).",
        (EAGER, runner.find_own_rung(), name),
        comparison=compiled.comparison,
    )


def _excuse_unused_draws(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """A draw whose numbers nobody uses, which AOTAutograd leaves out: all later ones draw others
    (pytorch/pytorch#143431).
    """
    if not runner.ladder.facts.get("random") or not differs(compiled):
        return None
    if not differs(runner.ladder[Backend.AOT_EAGER]):
        return None
    if not runner.ladder[Backend.EAGER].agrees or not runner.measure(KEPT_DRAWS).agrees:
        return None
    return make_diagnosis(
        runner,
        Kind.RNG,
        Layer.NONE,
        "The difference is the random stream: AOTAutograd leaves out random numbers that nobody"
        " uses, so that the next ones are others. Where they are drawn as well, from the same seed"
        f" and with fallback_random, the result agrees with eager (without: {compiled.detail}).",
        (EAGER, COMPILED, KEPT_DRAWS),
        comparison=compiled.comparison,
    )


# -- undefined, rounded and ill-conditioned values ------------------------------------------------


def _excuse_colliding_writes(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """Writes to the same places, of which torch does not say which one stays.

    So the documents of `index_put_` and `scatter_` (`torch/_tensor_docs.py`).
    """
    comparison, facts = compiled.comparison, runner.ladder.facts
    assert comparison is not None
    if (
        not facts.get("lost_writes")
        or find_shift(runner.measure(REORDERED).comparison, comparison) is None
    ):
        return None
    write = facts["lost_writes"][0]
    summary = (
        f"{write['elements']} of {write['of']} values that {write['by']} writes are lost to"
        " others that it writes to the same places; which of them stays is undefined"
        f" ({compiled.detail})."
    )
    cited = (EAGER, Backend.AOT_EAGER.value, COMPILED, REORDERED)
    return make_diagnosis(
        runner, Kind.UNDEFINED_VALUE, Layer.NONE, summary, cited, comparison=comparison
    )


def _excuse_undefined_casts(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """Casts of values that the target type does not have, which C++ leaves undefined.

    So the document of `Tensor.to` (`torch/_tensor_docs.py`).
    """
    comparison, facts = compiled.comparison, runner.ladder.facts
    assert comparison is not None
    below = EXPORT if runner.find_own_rung() in (PACKAGE, ONNX_RUNTIME) else Backend.AOT_EAGER.value
    if not facts.get("undefined_casts") or not runner.ladder[below].agrees:
        return None
    changed = runner.measure(RECAST)
    is_moved = changed.comparison is not None and moves(changed.comparison, comparison)
    if changed.outcome != RungOutcome.RAISES and not is_moved:
        return None
    cast = facts["undefined_casts"][0]
    summary = (
        f"{cast['elements']} of {cast['of']} values are outside the range of {cast['to']} when"
        f" cast from {cast['from']}, which C++ leaves undefined ({compiled.detail})."
    )
    cited = (EAGER, below, COMPILED, RECAST)
    return make_diagnosis(
        runner, Kind.UNDEFINED_VALUE, Layer.NONE, summary, cited, comparison=comparison
    )


def _agrees_emulated(runner: LadderRunner) -> bool:
    """Whether the results agree once fused code rounds to half precision where eager does.

    Not asked where they already differ without any fused code: the setting changes nothing there,
    and it compiles every kernel anew.
    """
    if not runner.ladder.facts.get("coarse") or runner.find_own_rung() != Backend.INDUCTOR:
        return False
    if differs(runner.ladder[Backend.AOT_EAGER.value]):
        return False
    emulated = runner.measure(EMULATED_CASTS)
    return emulated.comparison is not None and emulated.comparison["tight"]


def _excuse_precision_casts(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """Half precision that fused code does not round to in between: what torch says at
    `emulate_precision_casts` (`torch/_inductor/config.py`).
    """
    if not _agrees_emulated(runner):
        return None
    return _diagnose_precision_cast(runner, compiled.detail, compiled.comparison)


def _diagnose_precision_cast(
    runner: LadderRunner, text: str, comparison: Comparison | None
) -> Diagnosis:
    return make_diagnosis(
        runner,
        Kind.PRECISION_CAST,
        Layer.NONE,
        "Fused code keeps float32 where eager rounds to half precision in between; with"
        " torch._inductor.config.emulate_precision_casts = True the results agree (without:"
        f" {text}).",
        (EAGER, EXACT, Backend.INDUCTOR.value, EMULATED_CASTS),
        comparison=comparison,
    )


def _excuse_restless_eager(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """Eager's own result moves from run to run, within the tolerance but as far as the compiled one
    is off.
    """
    comparison = compiled.comparison
    assert comparison is not None
    shift = find_shift(runner.ladder[AGAIN].comparison, comparison)
    if shift is None:
        return None
    summary = (
        f"Eager moves {shift} from run to run, as far as the compiled result is off "
        f"({describe(comparison)})."
    )
    cited = (EAGER, AGAIN, COMPILED)
    return make_diagnosis(
        runner, Kind.NONDETERMINISTIC, Layer.EAGER, summary, cited, comparison=comparison
    )


def _excuse_ill_condition(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis | None:
    """Inputs moved in their last bit move eager's result as far: up and down in turn, then each
    element at random, which alone breaks the symmetry of equal ones. Or sums in another order do,
    of which torch promises none (https://pytorch.org/docs/stable/notes/numerical_accuracy.html).
    """
    comparison = compiled.comparison
    assert comparison is not None
    if differs(runner.ladder[Backend.AOT_EAGER]) or _is_eager_exact(comparison):
        return None
    sums = (RESUMMED,) if runner.ladder.facts.get("sums") else ()
    for name in (PERTURBED, PERTURBED_DOWN, *NUDGED, *sums):
        if name == NUDGED[0]:
            runner.start_ahead(NUDGED)
        shift = find_shift(runner.measure(name).comparison, comparison)
        if shift is not None:
            return _diagnose_sensitive_eager(runner, comparison, shift, name)
    return None


def _is_eager_exact(comparison: Comparison) -> bool:
    """Whether eager has float64's value in each of the many elements where the compiled result is
    off. On an edge of the function rounding would have moved eager across some of them as well.
    """
    values = comparison["values"]
    return bool(values) and all(item.get("eager_exact") for item in values)


def _diagnose_sensitive_eager(
    runner: LadderRunner, comparison: Comparison, shift: str, name: str
) -> Diagnosis:
    again = runner.ladder[AGAIN].comparison
    if again and not again["equal"]:
        # it moves on identical inputs too, so the last bit proves nothing
        summary = (
            f"Eager does not return the same twice ({describe(again)}); a later run is off"
            f" {shift}, as far as the compiled result ({describe(comparison)})."
        )
        cited = (EAGER, AGAIN, COMPILED, name)
        return make_diagnosis(
            runner, Kind.NONDETERMINISTIC, Layer.EAGER, summary, cited, comparison=comparison
        )
    change = (
        "Adding up the same numbers in another order"
        if name == RESUMMED
        else "A change of the inputs by one unit in the last place"
    )
    return make_diagnosis(
        runner,
        Kind.ILL_CONDITIONED,
        Layer.NONE,
        f"{change} moves eager's result {shift}, as far as the compiled result is off"
        f" ({describe(comparison)}).",
        (EAGER, COMPILED, name),
        comparison=comparison,
    )


# -- within what the receiving side calls equal ---------------------------------------------------


def judge_harmless_difference(runner: LadderRunner, compiled: MeasuredRung) -> Diagnosis:
    """The verdict on a difference that the rule does not mind."""
    comparison = compiled.comparison or runner.finding.comparison
    text = describe(comparison)
    if _agrees_emulated(runner):
        return _diagnose_precision_cast(runner, text, comparison)
    values = comparison["values"] if comparison else []
    if any(item.get("tied") for item in values):
        summary = (
            f"The results differ only in which of several tied values an index names ({text})."
        )
    elif any(item.get("overflowed") for item in values):
        summary = (
            "The compiled result agrees with float64 where eager is not finite"
            f" ({text}): eager overflows, or one of its operators is wrong."
        )
    elif runner.ladder[EXACT].ran and (far := _compute_share(comparison, of_eager=True)):
        summary = (
            f"The compiled result is as close to float64 as eager ({text}), but eager itself is off"
            f" by {far:.0%} of the values' size: it loses them to rounding, or one of its operators"
            " is wrong."
        )
    elif runner.ladder[EXACT].ran and _is_as_close_as_eager(comparison):
        summary = (
            "The results differ by rounding only: the compiled one is as close to float64 as eager"
            f" ({text})."
        )
    else:
        summary = (
            "The results differ by rounding only, within the tolerance that torch's own comparison"
            f" allows ({text}); {describe_reference(runner.ladder)}."
        )
        share = _compute_share(comparison)
        if share is not None:
            summary = (
                "The results differ within the tolerance that torch's own comparison allows, which"
                f" is absolute ({text}); the values are so small that the compiled result is off by"
                f" {share:.0%} of their size."
            )
    cited = (EAGER, EXACT, COMPILED)
    return make_diagnosis(runner, Kind.ROUNDING, Layer.NONE, summary, cited, comparison=comparison)


def _is_as_close_as_eager(comparison: Comparison | None) -> bool:
    """Whether no compiled value is farther from float64 than the rule allows, with a tolerance that
    is no larger than small values.
    """
    return all(
        item["error_vs_fp64"]
        <= _AS_CLOSE * item["eager_error_vs_fp64"] + _OF_SIZE * min(1.0, item.get("scale", 1.0))
        for item in (comparison["values"] if comparison else ())
        if item.get("error_vs_fp64") is not None and item.get("eager_error_vs_fp64") is not None
    )


def _compute_share(comparison: Comparison | None, of_eager: bool = False) -> float | None:
    """How far the compiled result is from float64, relative to the root mean square, if that is
    far; or how far eager is, where that is more than a user's own assertion allows.
    """
    shares = [
        (item.get("eager_error_vs_fp64", 0.0) if of_eager else item.get("error_vs_fp64", 0.0))
        / item["scale"]
        for item in (comparison["values"] if comparison else ())
        if item.get("scale") and not (of_eager and item.get("tight"))
    ]
    return max((share for share in shares if share > _FAR_OFF), default=None)


#: What eager alone shows; asked before the compiled call is looked at.
OF_EAGER = (
    Excuse(Kind.UNINITIALIZED_MEMORY, (FILLED,), _VALUES_AND_SIZES, _excuse_uninitialized_memory),
    Excuse(Kind.NONDETERMINISTIC, (AGAIN,), _VALUES_AND_SIZES, _excuse_unsteady_eager),
    Excuse(Kind.INVALID_PROGRAM, (UNDECLARED,), _VALUES_AND_SIZES, _excuse_undeclared_write),
)
#: What eager raises as well, where it gets other memory.
OF_EXCEPTIONS = (
    Excuse(Kind.UNINITIALIZED_MEMORY, (FILLED,), EXCEPTIONS, _excuse_error_from_memory),
)
#: Other random numbers.
OF_RANDOM_NUMBERS = (
    Excuse(Kind.RNG, (NUMPY,), _ALL_DRAWN, _excuse_numpy_draws),
    Excuse(Kind.RNG, (FALLBACK_RANDOM, TORCH_COMPILE_RANDOM), _ALL_DRAWN, _excuse_random_numbers),
    Excuse(Kind.RNG, (KEPT_DRAWS,), _ALL_DRAWN, _excuse_unused_draws),
    Excuse(Kind.RNG, (EXPORT,), _ALL_DRAWN, _excuse_draws_of_onnx_runtime),
)
#: Values beyond rounding that still are nobody's fault.
OF_VALUES = (
    Excuse(Kind.UNSUPPORTED, (EXPORT, PACKAGE, ONNX_RUNTIME), VALUES, _excuse_frozen_state),
    Excuse(Kind.UNSUPPORTED, (UNCACHED,), _VALUES_AND_SIZES, _excuse_ignored_cache),
    Excuse(Kind.UNDEFINED_VALUE, (REORDERED,), VALUES, _excuse_colliding_writes),
    Excuse(Kind.UNDEFINED_VALUE, (RECAST,), VALUES, _excuse_undefined_casts),
    Excuse(Kind.PRECISION_CAST, (EMULATED_CASTS,), VALUES, _excuse_precision_casts),
    Excuse(Kind.NONDETERMINISTIC, (AGAIN,), _VALUES_AND_SIZES, _excuse_restless_eager),
    Excuse(
        Kind.ILL_CONDITIONED,
        (PERTURBED, PERTURBED_DOWN, *NUDGED, RESUMMED),
        _VALUES_AND_SIZES,
        _excuse_ill_condition,
    ),
)
#: All of them, in the order in which they are asked.
EXCUSES = (*OF_EAGER, *OF_EXCEPTIONS, *OF_RANDOM_NUMBERS, *OF_VALUES)
