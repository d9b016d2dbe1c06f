"""A difference is a bug unless a measurement excuses it: each excuse at its bound, and which of two
comes first.
"""

from __future__ import annotations

from typing import Any

import pytest

from reporter.diagnose.rungs import (
    AGAIN,
    CACHES_OFF,
    EAGER,
    EXACT,
    EXPORT,
    FILLED,
    KEPT_DRAWS,
    NUDGED,
    NUMPY,
    ONNX_RUNTIME,
    OTHER_CLOCK,
    PACKAGE,
    PERTURBED,
    PERTURBED_DOWN,
    RECAST,
    REORDERED,
    RESUMMED,
    TORCH_COMPILE_RANDOM,
    UNBOUND,
)
from tests.support.made_up_call import (
    DEADLY,
    EQUAL,
    WITHIN,
    WRONG,
    compared,
    raises,
    value,
    verdict,
)

OWN = {"backend": {"callable": "mine"}}
#: Wrong where Inductor compiled, right below it.
INDUCTOR = {"compiled": WRONG, "inductor": WRONG}
EVERYWHERE = dict.fromkeys(
    ("compiled", "eager", "aot_eager", UNBOUND, "aot_eager_decomp_partition", "inductor"), WRONG
)


def moved(share: float, rms: float | None = None, **more: Any) -> dict[str, Any]:
    """Eager moved by a share of the compiled error."""
    return compared(value(max_abs_error=share, rms_error=share if rms is None else rms, **more))


def test_what_nothing_excuses_is_wrong() -> None:
    found, call_session = verdict(INDUCTOR)
    assert (found.kind, found.layer, found.is_bug) == ("wrong_result", "inductor", True)
    assert found.summary == (
        "The compiled call returns wrong values without an error (output 0: max abs error 1)."
    )
    assert found.basis.cited == (EAGER, AGAIN, EXACT, "compiled", "inductor")
    assert found.signature is not None and found.signature.undefined == ()
    assert found.comparison == WRONG and found.basis.reproduced == (3, 3)
    assert call_session.measured()[-5:] == [PERTURBED, PERTURBED_DOWN, *NUDGED]


# -- eager differs from eager ----------------------------------------------------------------------


def test_eager_that_does_not_agree_with_itself_is_nondeterministic() -> None:
    found, call_session = verdict({**INDUCTOR, AGAIN: WRONG})
    assert (found.kind, found.layer) == ("nondeterministic", "eager")
    assert found.summary == "Eager differs from eager: output 0: max abs error 1."
    assert found.basis.cited == (EAGER, AGAIN)
    assert "compiled" not in call_session.measured()


TWO = compared(value("output 0"), value("output 1"))


@pytest.mark.parametrize(
    ("own", "again", "kind"),
    [
        (TWO, WRONG, "wrong_result"),
        (TWO, compared(value("output 1")), "wrong_result"),
        (TWO, TWO, "nondeterministic"),
        (WRONG, TWO, "nondeterministic"),
        (WRONG, compared(value("output 1")), "wrong_result"),
        # an output that the rule does not mind needs no excuse
        (
            compared(value("output 0"), value("output 1", same=True)),
            WRONG,
            "nondeterministic",
        ),
        # where the rule minds none, all of them do
        (
            compared(value("output 0", same=True), value("output 1", same=True)),
            WRONG,
            "rounding",
        ),
    ],
)
def test_noise_excuses_only_the_outputs_that_it_moves(
    own: dict[str, Any], again: dict[str, Any], kind: str
) -> None:
    found, _ = verdict({**dict.fromkeys(EVERYWHERE, own), AGAIN: again}, comparison=own)
    assert found.kind == kind


def test_inputs_and_gradients_are_known_by_their_labels() -> None:
    own = compared(value("changed input 0", property="changed input", label="w"))
    noise = compared(value("changed input 1", property="changed input", label="w"))
    assert verdict({**INDUCTOR, AGAIN: noise}, comparison=own)[0].kind == "nondeterministic"
    other = compared(value("changed input 0", property="changed input", label="v"))
    assert verdict({**INDUCTOR, AGAIN: other}, comparison=own)[0].kind == "wrong_result"


def test_a_difference_without_a_comparison_is_excused_by_any_noise() -> None:
    found, _ = verdict({**INDUCTOR, AGAIN: WRONG}, comparison=None, returned=None)
    assert found.kind == "nondeterministic"


def test_memory_that_nothing_writes_to_is_filled() -> None:
    facts = {"uninitialized": ["empty", "empty_like"]}
    found, _ = verdict({**INDUCTOR, FILLED: WRONG}, facts=facts)
    assert (found.kind, found.layer) == ("uninitialized_memory", "eager")
    assert "memory that empty, empty_like hands out" in found.summary
    assert "(output 0: max abs error 1)" in found.summary
    assert found.basis.cited == (EAGER, FILLED)


@pytest.mark.parametrize(
    ("facts", "filled"),
    [({}, WRONG), ({"uninitialized": ["empty"]}, EQUAL), ({"uninitialized": ["empty"]}, WITHIN)],
)
def test_memory_excuses_only_what_filling_it_changes(facts: Any, filled: Any) -> None:
    found, call_session = verdict({**INDUCTOR, FILLED: filled}, facts=facts)
    assert found.kind == "wrong_result"
    assert (FILLED in call_session.measured()) == bool(facts)


def test_memory_excuses_no_other_output() -> None:
    facts = {"uninitialized": ["empty"]}
    found, _ = verdict({**INDUCTOR, FILLED: compared(value("output 1"))}, facts=facts)
    assert found.kind == "wrong_result"


def test_memory_is_named_before_noise() -> None:
    facts = {"uninitialized": ["empty"]}
    found, _ = verdict({**INDUCTOR, FILLED: WRONG, AGAIN: WRONG}, facts=facts)
    assert found.kind == "uninitialized_memory"
    found, _ = verdict({**INDUCTOR, FILLED: EQUAL, AGAIN: WRONG}, facts=facts)
    assert found.kind == "nondeterministic"


# -- random numbers --------------------------------------------------------------------------------

RANDOM = {"random": True}


def test_with_eagers_own_random_stream_the_results_agree() -> None:
    found, _ = verdict({**INDUCTOR, "fallback_random": EQUAL}, facts=RANDOM)
    assert (found.kind, found.layer, found.is_bug) == ("rng", "none", False)
    assert found.basis.cited == (EAGER, "inductor", "fallback_random")
    assert found.summary.endswith("(without: output 0: max abs error 1).")
    assert found.comparison == WRONG


def test_random_numbers_excuse_nothing_that_aot_eager_shows_which_draws_as_eager_does() -> None:
    two = compared(value(max_abs_error=2.0, rms_error=2.0))
    rungs = {**INDUCTOR, "aot_eager": two, UNBOUND: two, "fallback_random": EQUAL}
    found, _ = verdict({**rungs, KEPT_DRAWS: two}, facts=RANDOM)
    assert (found.kind, found.layer, found.comparison) == ("wrong_result", "aot_autograd", two)
    # where numbers that nobody uses are drawn as well, it agrees
    found, call_session = verdict({**rungs, KEPT_DRAWS: EQUAL}, facts=RANDOM)
    assert found.kind == "rng" and KEPT_DRAWS in call_session.measured()


def test_with_eagers_random_stream_what_still_differs_is_wrong() -> None:
    two = compared(value(max_abs_error=2.0, rms_error=2.0))
    found, _ = verdict({**EVERYWHERE, "fallback_random": two}, facts=RANDOM)
    assert (found.kind, found.layer) == ("wrong_result", "dynamo")
    assert found.comparison == two and "max abs error 2" in found.summary


def test_where_the_stream_cannot_be_chosen_the_compiled_call_is_judged() -> None:
    found, _ = verdict({**EVERYWHERE, "fallback_random": raises()}, facts=RANDOM)
    assert (found.kind, found.comparison) == ("wrong_result", WRONG)


def test_a_backend_of_the_users_own_draws_as_eager_does() -> None:
    rungs = {"compiled": WRONG, "custom": WRONG, "fallback_random": EQUAL}
    found, call_session = verdict(rungs, facts=RANDOM, options=OWN)
    assert (found.kind, found.layer) == ("wrong_result", "backend")
    assert "fallback_random" not in call_session.measured()


def test_random_numbers_are_no_question_where_the_compiled_call_agrees() -> None:
    found, call_session = verdict({"compiled": WITHIN}, facts=RANDOM)
    assert found.kind == "rounding" and "fallback_random" not in call_session.measured()


def test_a_call_that_drew_other_numbers_is_not_held_against_what_it_returned() -> None:
    found, _ = verdict({"script": WRONG}, facts=RANDOM)
    assert found.kind == "rounding"


NUMPYS = {"streams": ["numpy"]}


def test_numpys_stream_is_put_back() -> None:
    found, _ = verdict({**EVERYWHERE, NUMPY: EQUAL}, facts=NUMPYS)
    assert (found.kind, found.layer) == ("rng", "none")
    assert found.basis.cited == (EAGER, "compiled", NUMPY)
    assert "use_numpy_random_stream" in found.summary and found.comparison == WRONG


@pytest.mark.parametrize(
    ("facts", "answer"), [({"streams": ["python"]}, EQUAL), (NUMPYS, WRONG), (NUMPYS, raises())]
)
def test_numpy_excuses_only_what_its_stream_changes(facts: Any, answer: Any) -> None:
    found, _ = verdict({**EVERYWHERE, NUMPY: answer}, facts=facts)
    assert found.kind == "wrong_result"


def test_numpy_is_no_question_where_the_compiled_call_agrees() -> None:
    found, call_session = verdict({"compiled": WITHIN}, facts=NUMPYS)
    assert found.kind == "rounding" and NUMPY not in call_session.measured()


# -- within the rule -------------------------------------------------------------------------------


def test_what_the_rule_allows_is_rounding() -> None:
    found, _ = verdict({"compiled": WITHIN})
    assert (found.kind, found.layer, found.is_bug) == ("rounding", "none", False)
    assert found.basis.cited == (EAGER, EXACT, "compiled")
    assert found.summary == (
        "The results differ by rounding only: the compiled one is as close to float64 as eager "
        "(output 0: max abs error 1e-07)."
    )
    assert found.comparison == WITHIN


def test_without_float64_rounding_is_a_matter_of_the_tolerance() -> None:
    found, _ = verdict({"compiled": WITHIN, EXACT: raises("TypeError")})
    assert found.kind == "rounding"
    assert "within the tolerance" in found.summary and "(TypeError)" in found.summary


def test_tied_indices_are_no_difference_of_values() -> None:
    tied = compared(value(same=True, tied=True), value("output 1", same=True, tight=True))
    found, _ = verdict({"compiled": tied})
    assert found.kind == "rounding" and "which of several tied values" in found.summary


@pytest.mark.parametrize(
    ("share", "more", "off"),
    [
        (0.1001, {}, "10%"),
        (0.0999, {}, None),
        (0.5, {}, "50%"),
        (0.5, {"tight": True}, None),
        (0.5, {"scale": 0.0}, None),
    ],
)
def test_eager_that_is_far_off_itself_is_told(share: float, more: Any, off: str | None) -> None:
    item = value(same=True, scale=2.0, eager_error_vs_fp64=2 * share) | more
    found, _ = verdict({"compiled": compared(item)})
    assert found.kind == "rounding"
    assert ("eager itself is off by" in found.summary) == (off is not None)
    assert off is None or f"off by {off} of the values' size" in found.summary


def test_of_several_the_worst_share_is_told() -> None:
    items = [
        value(f"output {n}", same=True, scale=1.0, eager_error_vs_fp64=share)
        for n, share in enumerate((0.2, 0.7, 0.3))
    ]
    found, _ = verdict({"compiled": compared(*items)})
    assert "off by 70%" in found.summary


def test_half_precision_is_named_where_emulating_its_casts_makes_the_results_agree() -> None:
    rungs = {"compiled": WITHIN, "emulate_precision_casts": EQUAL}
    found, _ = verdict(rungs, facts={"coarse": True})
    assert (found.kind, found.layer) == ("precision_cast", "none")
    assert found.basis.cited == (EAGER, EXACT, "inductor", "emulate_precision_casts")
    assert "(without: output 0: max abs error 1e-07)" in found.summary
    assert found.comparison == WITHIN


LOOSE = compared(value(same=True, tight=False))


@pytest.mark.parametrize(
    ("facts", "options", "answer", "asked"),
    [
        ({}, {}, EQUAL, False),
        ({"coarse": True}, OWN, EQUAL, False),
        ({"coarse": True}, {}, LOOSE, True),
        ({"coarse": True}, {}, raises(), True),
    ],
)
def test_half_precision_excuses_nothing_else(
    facts: Any, options: Any, answer: Any, asked: bool
) -> None:
    rungs = {"compiled": WITHIN, "emulate_precision_casts": answer}
    found, call_session = verdict(rungs, facts=facts, options=options)
    assert found.kind == "rounding"
    assert ("emulate_precision_casts" in call_session.measured()) == asked


def test_half_precision_excuses_what_the_rule_minds_too() -> None:
    rungs = {**INDUCTOR, "emulate_precision_casts": WITHIN}
    found, _ = verdict(rungs, facts={"coarse": True})
    assert found.kind == "precision_cast" and found.comparison == WRONG
    assert "(without: output 0: max abs error 1)" in found.summary


def test_fused_code_is_no_excuse_where_there_is_none() -> None:
    found, call_session = verdict(
        {**EVERYWHERE, "eager": EQUAL, "emulate_precision_casts": WITHIN}, facts={"coarse": True}
    )
    assert (found.kind, found.layer) == ("wrong_result", "aot_autograd")
    assert "emulate_precision_casts" not in call_session.measured()


# -- only the script's own call --------------------------------------------------------------------


def test_what_only_the_scripts_own_call_returned_is_not_reproduced() -> None:
    found, _ = verdict({"script": WRONG})
    assert (found.kind, found.layer) == ("not_reproduced", "none")
    assert found.summary == (
        "The script's compiled call differed from eager (output 0: max abs error 1),"
        " but none of 7 repetitions did."
    )
    assert found.basis.cited == ("compiled",) and found.basis.reproduced == (1, 8)


def test_what_the_scripts_own_call_and_some_repetitions_returned_is_counted() -> None:
    found, _ = verdict({"script": WRONG, "repeat 1": WRONG, "repeat 4": WRONG})
    assert (found.kind, found.layer) == ("wrong_result", "inductor")
    assert found.basis.reproduced == (3, 8) and found.summary.endswith("; seen in 3 of 8 runs.")
    assert found.comparison == WRONG


def test_what_the_scripts_own_call_returned_can_be_excused() -> None:
    rungs = {"script": WRONG, "repeat 1": WRONG, PERTURBED: moved(1.0)}
    assert verdict(rungs)[0].kind == "ill_conditioned"


def test_a_compiled_call_that_ends_otherwise_leaves_the_scripts_own() -> None:
    found, _ = verdict({"compiled": DEADLY, "inductor": WRONG, "script": WRONG})
    assert found.kind == "wrong_result" and found.basis.reproduced == (2, 3)


def test_the_gradients_of_a_fresh_compile_are_what_was_compared() -> None:
    wrong = compared(value("gradient 0", property="gradient"))
    found, _ = verdict({"inductor": wrong}, "gradient", comparison=wrong, grads="flows.pt")
    assert (found.kind, found.layer) == ("wrong_gradient", "inductor")
    assert found.summary.startswith("The compiled backward pass returns wrong gradients")
    assert found.basis.reproduced == (2, 2)
    found, _ = verdict({"compiled": wrong}, "gradient", comparison=wrong, grads="flows.pt")
    assert found.kind == "rounding"


# -- what is undefined -----------------------------------------------------------------------------

WRITES = {"lost_writes": [{"elements": 2, "of": 6, "by": "index_put"}]}
CASTS = {"undefined_casts": [{"elements": 3, "of": 9, "from": "float32", "to": "int8"}]}


def test_writes_that_collide_excuse_what_their_order_changes() -> None:
    found, _ = verdict({**EVERYWHERE, REORDERED: WRONG}, facts=WRITES)
    assert (found.kind, found.layer) == ("undefined_value", "none")
    assert found.summary.startswith("2 of 6 values that index_put writes are lost to others")
    assert found.basis.cited == (EAGER, "aot_eager", "compiled", REORDERED)
    assert found.comparison == WRONG


def test_casts_out_of_range_excuse_what_changing_them_changes() -> None:
    found, _ = verdict({**INDUCTOR, RECAST: WRONG}, facts=CASTS)
    assert (found.kind, found.layer) == ("undefined_value", "none")
    assert found.summary.startswith("3 of 9 values are outside the range of int8 when cast from")
    assert found.basis.cited == (EAGER, "aot_eager", "compiled", RECAST)
    assert found.comparison == WRONG


def test_a_program_that_does_not_survive_other_casts_depends_on_them() -> None:
    assert verdict({**INDUCTOR, RECAST: raises()}, facts=CASTS)[0].kind == "undefined_value"


@pytest.mark.parametrize(
    ("rungs", "facts", "undefined"),
    [
        ({**EVERYWHERE, REORDERED: moved(0.4)}, WRITES, ("writes",)),
        ({**EVERYWHERE, REORDERED: EQUAL}, WRITES, ("writes",)),
        ({**EVERYWHERE, RECAST: WRONG}, CASTS, ("casts",)),
        ({**INDUCTOR, RECAST: EQUAL}, CASTS, ("casts",)),
        ({**INDUCTOR, RECAST: DEADLY}, CASTS, ("casts",)),
        ({**INDUCTOR, RECAST: compared(value("output 1"))}, CASTS, ("casts",)),
        ({**INDUCTOR}, {**CASTS, **WRITES}, ("casts", "writes")),
    ],
)
def test_what_is_undefined_but_does_not_explain_it_stands_in_the_signature(
    rungs: Any, facts: Any, undefined: tuple[str, ...]
) -> None:
    found, _ = verdict(rungs, facts=facts)
    assert found.kind == "wrong_result"
    assert found.signature is not None and found.signature.undefined == undefined


# -- as far as eager moves -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moves", "kind"),
    [
        (moved(0.5), "ill_conditioned"),
        (moved(0.499), "wrong_result"),
        (moved(1.0, rms=0.499), "wrong_result"),
        (moved(0.499, rms=1.0), "wrong_result"),
        (compared(value("output 1")), "wrong_result"),
        (EQUAL, "wrong_result"),
    ],
)
def test_a_last_bit_excuses_what_it_moves_at_least_half_as_far(moves: Any, kind: str) -> None:
    for rung in (PERTURBED, PERTURBED_DOWN):
        found, _ = verdict({**INDUCTOR, rung: moves})
        assert found.kind == kind
        if kind == "ill_conditioned":
            assert found.basis.cited == (EAGER, "compiled", rung)
            assert "moves eager's result by 0.5, as far as" in found.summary
            assert found.layer == "none" and found.comparison == WRONG


def test_the_second_perturbation_is_made_only_where_the_first_moves_too_little() -> None:
    _, call_session = verdict({**INDUCTOR, PERTURBED: moved(1.0)})
    assert call_session.measured()[-1] == PERTURBED
    _, call_session = verdict({**INDUCTOR, PERTURBED: moved(0.1), PERTURBED_DOWN: moved(1.0)})
    assert call_session.measured()[-2:] == [PERTURBED, PERTURBED_DOWN]


def test_each_output_has_to_move() -> None:
    both = dict.fromkeys(INDUCTOR, TWO)
    one = compared(value("output 0"), value("output 1", max_abs_error=0.1))
    assert verdict({**both, PERTURBED: one}, comparison=TWO)[0].kind == "wrong_result"
    found, _ = verdict({**both, PERTURBED: TWO}, comparison=TWO)
    assert found.kind == "ill_conditioned"


def test_the_largest_shift_is_told() -> None:
    both = dict.fromkeys(INDUCTOR, TWO)
    far = compared(value("output 0", max_abs_error=3.0), value("output 1", max_abs_error=2.0))
    assert "by 3, as far" in verdict({**both, PERTURBED: far}, comparison=TWO)[0].summary


def test_nan_that_moved_is_excused_by_no_shift() -> None:
    wrong = compared(value(nan_moved=True))
    found, _ = verdict({"compiled": wrong, "inductor": wrong, PERTURBED: moved(1.0)})
    assert found.kind == "wrong_result"


def test_a_gradient_that_is_not_there_is_excused_by_no_shift_without_a_number() -> None:
    wrong = compared(
        {
            "where": "gradient 0",
            "property": "gradient",
            "label": "w",
            "equal": False,
            "same": False,
            "tight": False,
            "missing": "compiled",
        }
    )
    both = {"compiled": wrong, "inductor": wrong}
    found, _ = verdict({**both, PERTURBED: wrong}, comparison=wrong)
    assert found.kind == "wrong_gradient"
    assert "only eager backward pass gives one" in found.summary


def test_a_gradient_that_is_not_there_is_excused_by_no_gradient_that_moves() -> None:
    lost = compared(value("gradient 0", property="gradient", label="w", missing="compiled"))
    wrong = compared({k: v for k, v in lost["values"][0].items() if "error" not in k})
    moves = compared(value("gradient 0", property="gradient", label="w", max_abs_error=1e-7))
    found, _ = verdict({"compiled": wrong, "inductor": wrong, PERTURBED: moves}, comparison=wrong)
    assert found.kind == "wrong_gradient"


def test_a_last_bit_excuses_nothing_that_aot_eager_shows() -> None:
    found, call_session = verdict({**EVERYWHERE, PERTURBED: moved(1.0)})
    assert found.kind == "wrong_result" and PERTURBED not in call_session.measured()


QUIET = value(same=True, tight=True)


def test_eager_that_moves_within_the_tolerance_as_far_as_the_compiled_call_is_off() -> None:
    again = compared({**QUIET, "max_abs_error": 0.5, "rms_error": 0.5})
    found, call_session = verdict({**INDUCTOR, AGAIN: again})
    assert (found.kind, found.layer) == ("nondeterministic", "eager")
    assert found.summary.startswith("Eager moves by 0.5 from run to run, as far as")
    assert found.basis.cited == (EAGER, AGAIN, "compiled") and found.comparison == WRONG
    assert PERTURBED not in call_session.measured()


def test_eager_that_never_returns_the_same_is_not_blamed_on_the_last_bit() -> None:
    again = compared({**QUIET, "max_abs_error": 0.1, "rms_error": 0.1})
    found, _ = verdict({**INDUCTOR, AGAIN: again, PERTURBED_DOWN: moved(1.0)})
    assert (found.kind, found.layer) == ("nondeterministic", "eager")
    assert found.summary.startswith("Eager does not return the same twice (output 0: max abs")
    assert "a later run is off by 1, as far as" in found.summary
    assert found.basis.cited == (EAGER, AGAIN, "compiled", PERTURBED_DOWN)


# -- kinds of what is wrong ------------------------------------------------------------------------

DTYPE = {"where": "output 0", "property": "dtype", "eager": "a", "compiled": "b"}


def test_metadata_is_excused_by_nothing_and_named() -> None:
    wrong = compared(value(), metadata=(DTYPE,))
    rungs = {"compiled": wrong, "inductor": wrong, PERTURBED: moved(1.0), RECAST: WRONG}
    found, call_session = verdict(rungs, facts={**CASTS, **WRITES, "coarse": True})
    assert (found.kind, found.layer) == ("wrong_metadata", "inductor")
    assert found.signature is not None and found.signature.property == "dtype"
    assert found.summary == (
        "The compiled result has other metadata than eager's"
        " (output 0: dtype a in eager, b compiled)."
    )
    assert not {PERTURBED, RECAST, REORDERED} & set(call_session.measured())


def test_an_exception_that_eager_raises_too_where_memory_is_filled_is_no_bug() -> None:
    facts, error = {"uninitialized": ["torch.empty"]}, raises("LinAlgError", "non-finite values")
    both = {"compiled": error, "inductor": error}
    failure = error["failure"]
    found, _ = verdict({**both, FILLED: error}, "raised", facts=facts, failure=failure)
    assert (found.kind, found.is_bug) == ("uninitialized_memory", False)
    assert "eager raises LinAlgError, too" in found.summary
    for other in (WRONG, EQUAL, raises("KeyError", "no")):
        found, _ = verdict({**both, FILLED: other}, "raised", facts=facts, failure=failure)
        assert found.kind == "crash"
    found, call_session = verdict({**both, FILLED: error}, "raised", failure=failure)
    assert found.kind == "crash" and FILLED not in call_session.measured()


SHAPE = {"where": "output 0", "property": "shape", "eager": "[1, 4]", "compiled": "[2]"}
RESIZED = compared(metadata=(SHAPE,))


@pytest.mark.parametrize("excuse", ["uninitialized", "unsteady", "perturbed", "numpy", "random"])
def test_what_moves_values_excuses_no_shape(excuse: str) -> None:
    both = dict.fromkeys(INDUCTOR, RESIZED)
    facts = {"uninitialized": ["torch.empty"]} if excuse == "uninitialized" else {}
    facts |= {"streams": ["numpy"]} if excuse == "numpy" else {}
    facts |= {"random": ["aten.rand"]} if excuse == "random" else {}
    rungs = {
        "uninitialized": {FILLED: WRONG},
        "unsteady": {AGAIN: WRONG},
        "perturbed": {PERTURBED: moved(1.0)},
        "numpy": {NUMPY: RESIZED},
        "random": {"fallback_random": RESIZED},
    }[excuse]
    found, _ = verdict({**both, **rungs}, facts=facts, comparison=RESIZED)
    assert (found.kind, found.signature and found.signature.property) == ("wrong_metadata", "shape")


@pytest.mark.parametrize("rung", [PERTURBED, PERTURBED_DOWN, *NUDGED])
def test_a_shape_that_hangs_on_the_last_bit_of_the_inputs_is_ill_conditioned(rung: str) -> None:
    other = compared(metadata=({**SHAPE, "compiled": "[3]"},))
    found, _ = verdict({**dict.fromkeys(INDUCTOR, RESIZED), rung: other}, comparison=RESIZED)
    assert (found.kind, found.basis.cited) == ("ill_conditioned", (EAGER, "compiled", rung))
    assert "moves eager's result to another size, as far as" in found.summary


def test_sums_in_another_order_that_move_eager_as_far_are_ill_conditioned() -> None:
    facts = {"sums": True}
    found, _ = verdict({**INDUCTOR, RESUMMED: WRONG}, facts=facts)
    assert (found.kind, found.basis.cited) == ("ill_conditioned", (EAGER, "compiled", RESUMMED))
    assert found.summary.startswith("Adding up the same numbers in another order moves eager")
    found, call_session = verdict({**INDUCTOR, RESUMMED: moved(0.4)}, facts=facts)
    assert found.kind == "wrong_result" and call_session.measured()[-1] == RESUMMED
    _, call_session = verdict({**INDUCTOR, RESUMMED: WRONG})
    assert RESUMMED not in call_session.measured()


def test_a_shape_that_is_another_in_each_eager_run_is_nondeterministic() -> None:
    other = compared(metadata=({**SHAPE, "compiled": "[3]"},))
    found, _ = verdict({**dict.fromkeys(INDUCTOR, RESIZED), AGAIN: other}, comparison=RESIZED)
    assert found.kind == "nondeterministic"


def test_a_dtype_beside_a_shape_that_eager_moves_is_excused_by_nothing() -> None:
    wrong, other = compared(metadata=(SHAPE, DTYPE)), compared(metadata=(SHAPE,))
    found, _ = verdict({**dict.fromkeys(INDUCTOR, wrong), PERTURBED: other}, comparison=wrong)
    assert found.kind == "wrong_metadata"


def test_of_several_properties_the_gravest_is_named() -> None:
    wrong = compared(metadata=(DTYPE, SHAPE))
    found, _ = verdict(dict.fromkeys(INDUCTOR, wrong), comparison=wrong)
    assert found.signature is not None and found.signature.property == "shape"
    assert "shape [1, 4] in eager, [2] compiled" in found.summary


def test_a_lost_gradient_is_graver_than_shared_memory() -> None:
    alias = {**DTYPE, "property": "alias", "eager": "None", "compiled": "output 0"}
    flag = {**DTYPE, "property": "requires_grad", "eager": "True", "compiled": "False"}
    wrong = compared(metadata=(alias, flag))
    found, _ = verdict(dict.fromkeys(INDUCTOR, wrong), comparison=wrong)
    assert found.signature is not None and found.signature.property == "requires_grad"


def test_wrong_tensors_are_graver_than_a_number_beside_them() -> None:
    number = {**DTYPE, "property": "python value", "eager": "3", "compiled": "4"}
    both = compared(value(), metadata=(number,))
    found, _ = verdict(dict.fromkeys(EVERYWHERE, both), comparison=both)
    assert (found.kind, found.layer) == ("wrong_result", "dynamo")
    excused = {**dict.fromkeys(("compiled", "inductor"), both), PERTURBED: WRONG}
    found, _ = verdict(excused, comparison=both)
    assert found.kind == "wrong_metadata"


def test_tangents_that_are_wrong_or_lost_are_wrong_gradients_of_forward_mode() -> None:
    lost = compared(value("tangent 0", property="tangent", missing="compiled"))
    found, _ = verdict({"compiled": lost, "inductor": lost}, comparison=lost)
    assert found.kind == "wrong_gradient"
    assert "in forward mode" in found.summary
    assert "(tangent 0: only eager call gives one)" in found.summary


def test_one_wrong_value_beside_wrong_gradients_is_a_wrong_result() -> None:
    gradient = value("gradient 0", property="gradient")
    both, alone = compared(value(), gradient), compared(value(same=True), gradient)
    assert verdict({"compiled": both, "inductor": both})[0].kind == "wrong_result"
    found, _ = verdict({"compiled": alone, "inductor": alone})
    assert found.kind == "wrong_gradient"
    assert found.signature is not None and found.signature.property is None


def test_a_reused_graph_that_is_right_when_compiled_afresh_is_stale() -> None:
    found, call_session = verdict(INDUCTOR, replay=True)
    assert (found.kind, found.layer) == ("stale_graph", "inductor")
    assert found.signature is not None and found.signature.kind == "stale_graph"
    assert found.basis.cited == (EAGER, AGAIN, EXACT, "compiled", "inductor", "fresh compile")
    assert found.summary.startswith("A compiled graph that is reused")
    assert call_session.measured()[-2:] == ["fresh compile", "dynamic=False"]


def test_a_call_that_is_compiled_and_right_with_the_caches_off_was_given_other_code() -> None:
    compiled = {**WRONG, "compilations": 1}
    found, call_session = verdict({**INDUCTOR, "compiled": compiled}, replay=True)
    assert (found.kind, found.layer, found.is_from_cache) == ("stale_graph", "inductor", True)
    assert CACHES_OFF in found.basis.cited and found.summary.startswith(
        "The code that the compiler's"
    )
    wrong = {**INDUCTOR, "compiled": compiled, CACHES_OFF: WRONG}
    found, _ = verdict(wrong, replay=True)
    assert (found.kind, found.is_from_cache) == ("stale_graph", False)
    # a graph that is reused was not compiled: with the caches off it may be, and be right
    found, call_session = verdict(INDUCTOR, replay=True)
    assert not found.is_from_cache and CACHES_OFF not in call_session.measured()


@pytest.mark.parametrize(("fresh", "cited"), [(WRONG, True), (raises(), True), (DEADLY, True)])
def test_a_reused_graph_that_is_wrong_afresh_is_not_stale(fresh: Any, cited: bool) -> None:
    found, call_session = verdict({**INDUCTOR, "fresh compile": fresh}, replay=True)
    assert found.kind == "wrong_result"
    assert ("fresh compile" in found.basis.cited) == cited
    assert "dynamic=False" not in call_session.measured()


def test_only_wrong_values_of_a_repeated_call_can_be_stale() -> None:
    _, call_session = verdict(INDUCTOR, replay=False)
    assert "fresh compile" not in call_session.measured()
    wrong = compared(metadata=(DTYPE,))
    found, call_session = verdict({"compiled": wrong, "inductor": wrong}, replay=True)
    assert found.kind == "wrong_metadata" and "fresh compile" not in call_session.measured()
    found, call_session = verdict(INDUCTOR, "gradient", comparison=WRONG, grads="f.pt", replay=True)
    assert found.kind == "wrong_result" and "fresh compile" not in call_session.measured()


def test_a_backend_of_the_users_own_is_cited() -> None:
    found, _ = verdict({"compiled": WRONG, "custom": WRONG}, options=OWN)
    assert found.basis.cited == (EAGER, AGAIN, EXACT, "compiled", "custom")
    assert found.layer == "backend"


def test_a_graph_that_only_the_program_itself_reuses_wrongly_lacks_a_guard_of_dynamo() -> None:
    found, _ = verdict({"compiled": WRONG}, replay=True)
    assert (found.kind, found.layer) == ("stale_graph", "dynamo")
    found, _ = verdict({"compiled": WRONG, "inductor": WRONG}, replay=True)
    assert (found.kind, found.layer) == ("stale_graph", "inductor")


# -- side effects ----------------------------------------------------------------------------------

EFFECT = {
    "where": "Python state 3",
    "property": "side effect",
    "eager": "1 item",
    "compiled": "0 items (as before the call)",
}
LOST = compared(metadata=(EFFECT,))
LOST_EVERYWHERE = dict.fromkeys(EVERYWHERE, LOST)


def test_a_lost_side_effect_is_wrong_metadata_of_the_lowest_layer_that_loses_it() -> None:
    found, call_session = verdict(LOST_EVERYWHERE, comparison=LOST)
    assert (found.kind, found.layer, found.is_bug) == ("wrong_metadata", "dynamo", True)
    assert found.signature is not None and found.signature.property == "side effect"
    assert found.summary == (
        "The compiled call does not leave Python's state as eager does (Python state 3: 1 item in"
        " eager, 0 items (as before the call) compiled)."
    )
    assert OTHER_CLOCK in call_session.measured()


def test_no_value_excuse_explains_a_side_effect() -> None:
    facts = {"uninitialized": ["empty"], "undefined_casts": [{"elements": 1}], "coarse": True}
    rungs = {
        **LOST_EVERYWHERE,
        PERTURBED: WRONG,
        PERTURBED_DOWN: WRONG,
        FILLED: WRONG,
        RECAST: WRONG,
    }
    found, _ = verdict(rungs, facts=facts, comparison=LOST)
    assert (found.kind, found.layer) == ("wrong_metadata", "dynamo")


def test_a_side_effect_that_only_a_reused_graph_loses_is_dynamos() -> None:
    found, _ = verdict({"compiled": LOST}, comparison=LOST)
    assert (found.kind, found.layer) == ("wrong_metadata", "dynamo")


def test_other_random_numbers_explain_a_side_effect_that_is_gone_with_eagers() -> None:
    rungs = {"compiled": LOST, "inductor": LOST}
    found, _ = verdict(rungs, facts={"random": ["rand"]}, comparison=LOST)
    assert found.kind == "rng"
    found, _ = verdict(
        {**rungs, "fallback_random": LOST}, facts={"random": ["rand"]}, comparison=LOST
    )
    assert found.kind == "wrong_metadata"


def test_values_that_nothing_excuses_come_before_a_side_effect() -> None:
    both = compared(value(), metadata=(EFFECT,))
    found, _ = verdict(dict.fromkeys(EVERYWHERE, both), comparison=both)
    assert (found.kind, found.comparison) == ("wrong_result", WRONG)
    assert "max abs error" in found.summary
    rungs = {**dict.fromkeys(("compiled", "inductor"), both), PERTURBED: WRONG}
    found, _ = verdict(rungs, comparison=both)
    assert found.kind == "wrong_metadata"


def test_where_another_eager_run_fails_nothing_is_said_of_side_effects() -> None:
    found, _ = verdict({**LOST_EVERYWHERE, OTHER_CLOCK: raises()}, comparison=LOST)
    assert not found.is_bug


def test_gradients_of_a_reused_graph_that_a_fresh_compile_refuses_are_stale() -> None:
    rungs = {
        "compiled": WRONG,
        "inductor": raises("Unsupported"),
        "aot_eager": raises("Unsupported"),
    }
    found, _ = verdict(rungs, "raised", failure=None, grads="flows.pt", replay=True)
    assert (found.kind, found.layer, found.is_bug) == ("stale_graph", "dynamo", True)
    assert "where a fresh compile raises Unsupported" in found.summary
    assert found.signature is not None and found.signature.kind == "stale_graph"
    found, _ = verdict(
        {**rungs, "compiled": EQUAL}, "raised", failure=None, grads="flows.pt", replay=True
    )
    assert found.kind != "stale_graph"


@pytest.mark.parametrize(
    ("compiler", "own"), [("export", EXPORT), ("aoti", PACKAGE), ("onnx", ONNX_RUNTIME)]
)
@pytest.mark.parametrize("replay", [False, True])
def test_what_is_right_once_it_is_exported_again_held_an_earlier_state(
    compiler: str, own: str, replay: bool
) -> None:
    options = {"compiler": compiler}
    found, _ = verdict({"compiled": WRONG}, options=options, replay=replay)
    assert (found.kind, found.layer, found.is_bug) == ("unsupported", "none", False)
    assert own in found.basis.cited and "holds something else by now" in found.summary
    found, _ = verdict({"compiled": WRONG, own: WRONG}, options=options, replay=replay)
    assert found.is_bug


def test_a_package_that_draws_other_numbers_is_held_against_torch_compile() -> None:
    options, drawn = {"compiler": "aoti"}, {"random": ["bernoulli_"]}
    rungs = {"compiled": WRONG, PACKAGE: WRONG}
    found, call_session = verdict(rungs, facts=drawn, options=options)
    assert (found.kind, found.layer) == ("rng", "none")
    assert (
        TORCH_COMPILE_RANDOM in call_session.measured()
        and TORCH_COMPILE_RANDOM in found.basis.cited
    )
    for wrong in (EXPORT, TORCH_COMPILE_RANDOM):
        found, _ = verdict({**rungs, wrong: WRONG}, facts=drawn, options=options)
        assert found.is_bug, wrong
