"""What the verdict on each program has to be. This table is the truth; a recording never is.

The programs are tests/data/scripts/verdicts/NAME.py unless `script` names another one.
`recorded_answers` holds what torch answered when they were judged last.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.judge import judge
from reporter.recording.findings import Recording
from tests.support import scripts
from tests.support.watched import watch

#: Seconds for a script, and for each repetition of its call. Nothing waits for them: programs that
#: hang hold the clock.
SCRIPT_LIMIT = 600.0
LIMIT = SCRIPT_LIMIT / 2


@dataclass(frozen=True)
class Case:
    """The verdict on one program; `live`: asked of torch each time the tests are run.

    `sometimes`: a bug that not every repetition shows; `phase`: what a stuck or dead process was
    doing.
    """

    kind: str
    layer: str
    is_bug: bool
    script: str = ""
    live: bool = False
    sometimes: bool = False
    phase: str = ""

    def mistake_in(self, found: Mapping[str, Any]) -> str:
        """What is wrong with a diagnosis (see `recorded_answers.as_data`); empty if nothing is."""
        said = found["kind"], found["layer"], found["is_bug"]
        if said != (self.kind, self.layer, self.is_bug):
            return f"{said} and not {self.kind}, {self.layer}: {found['summary']}"
        seen, runs = found.get("reproduced") or (0, 0)
        if self.is_bug and not (1 < seen < runs if self.sometimes else seen == runs > 1):
            return f"seen in {seen} of {runs} runs"
        place = found.get("place") or {"phase": "", "frames": []}
        if self.phase and place["phase"] != self.phase:
            return f"the process was {place['phase']} and not {self.phase}"
        if not all(frame.startswith("torch/") for frame in place["frames"]):
            return f"frames that are not torch's: {place['frames']}"
        return ""


def _bug(
    kind: str,
    layer: str,
    script: str = "",
    live: bool = False,
    sometimes: bool = False,
    phase: str = "",
) -> Case:
    return Case(kind, layer, True, script, live, sometimes, phase)


def _fine(kind: str, layer: str, script: str = "", live: bool = False) -> Case:
    return Case(kind, layer, False, script, live)


CASES: dict[str, Case] = {
    # -- raises ------------------------------------------------------------------------------------
    "setattr_rejected_is_replayed": _bug("crash", "dynamo", "setattr_rejected_is_replayed"),
    "hook_in_its_place": _fine("not_reproduced", "none"),
    "dyn_dict": _fine("not_reproduced", "none", "dyn_dict"),
    "compile_does_not_survive_a_getattr": _bug("crash", "dynamo"),
    "aot_autograd_raises": _bug("crash", "aot_autograd", live=True),
    "lru_cache_is_ignored": _fine("unsupported", "dynamo"),
    "bound_decomposition_of_interpolate": _bug("wrong_result", "decomposition"),
    "decomposition_raises": _bug("crash", "decomposition"),
    "lowering_raises": _bug("crash", "inductor"),
    "foobar": _bug("crash", "inductor", "foobar"),
    "cpp_compiler_refuses_a_kernel": _bug("crash", "inductor"),
    "swallowed_assertion": _bug("crash", "backend", live=True),
    "toy": _bug("crash", "backend", "toy"),
    "backend_by_name": _bug("crash", "backend"),
    "backward_raises": _bug("crash", "backend"),
    "raises_sometimes": _bug("crash", "backend", sometimes=True),
    "slow_once_then_raises": _bug("crash", "backend"),
    "slow_call_repeated_slower": _bug("crash", "backend"),
    "crash_with_symbolic_sizes": _bug("crash", "backend"),
    "crash_on_dynamic": _bug("crash", "backend"),
    "crash_on_recompile": _bug("crash_on_recompile", "backend", live=True),
    "raises_once": _fine("not_reproduced", "none"),
    "runtime_error_of_a_testing_backend": _bug("crash", "backend"),
    "body_of_a_loop_raises": _bug("crash", "backend"),
    # -- does not come back ------------------------------------------------------------------------
    "dies_running": _bug("process_death", "backend", phase="running"),
    "dies_in_inductor": _bug("process_death", "inductor", live=True),
    "killed_for_memory": _bug("process_death", "backend"),
    "exits_with_a_status": _fine("cannot_judge", "none", live=True),
    "dies_where_eager_raises": _bug("process_death", "backend"),
    "slow_once_then_dies": _bug("process_death", "backend"),
    "index_oob_embedding_offsets_abort": _bug(
        "process_death", "inductor", "index_oob_embedding_offsets_abort"
    ),
    "dies_once": _fine("not_reproduced", "none"),
    "dies_in_eager": _fine("invalid_program", "eager"),
    "hang_compiling": _bug("hang", "backend", live=True, phase="compiling"),
    "hang_running": _bug("hang", "backend", live=True, phase="running"),
    "hang_in_dynamo": _bug("hang", "dynamo", phase="compiling"),
    "hang_in_inductor": _bug("hang", "inductor", phase="compiling"),
    "hang_in_eager": _fine("invalid_program", "eager"),
    "slow_once_then_right": _fine("not_reproduced", "none"),
    "hang_before_the_call": _fine("cannot_judge", "none"),
    "hang_after_the_call": _fine("not_reproduced", "none"),
    # -- wrong values ------------------------------------------------------------------------------
    "dynamo_is_wrong": _bug("wrong_result", "dynamo", live=True),
    "array_of_another_value": _bug("wrong_result", "dynamo"),
    "array_of_another_dtype": _bug("wrong_metadata", "dynamo"),
    "generator_is_lost": _bug("wrong_metadata", "dynamo"),
    "right_scalar_of_numpy": _fine("not_reproduced", "none"),
    "alias_view_after_mutation_wrong_base": _bug(
        "wrong_result", "aot_autograd", "alias_view_after_mutation_wrong_base"
    ),
    "decomposition_is_wrong": _bug("wrong_result", "decomposition", live=True),
    "lowering_is_wrong": _bug("wrong_result", "inductor"),
    "relu_is_wrong_in_cpp": _bug("wrong_result", "inductor", live=True),
    "floor_of_a_quotient_is_wrong": _bug("wrong_result", "inductor"),
    "wrong_value_only_printed": _bug("wrong_result", "backend"),
    "small_values_are_wrong": _bug("wrong_result", "backend"),
    "wrong_sometimes": _bug("wrong_result", "backend", sometimes=True),
    "slow_once_then_wrong": _bug("wrong_result", "backend"),
    "nan_where_eager_has_none": _bug("wrong_result", "backend"),
    "both_nan_compare": _fine("not_reproduced", "none", "both_nan_compare"),
    "index_where_no_values_tie": _bug("wrong_result", "backend"),
    "sum_of_other_inputs": _bug("wrong_result", "backend"),
    "two_writes_to_one_place_of_other_values": _bug("wrong_result", "backend"),
    "wrong_array": _bug("wrong_result", "backend"),
    "wrong_in_an_object": _bug("wrong_result", "backend"),
    "wrong_float8": _bug("wrong_result", "backend"),
    "wrong_rebound_buffer": _bug("wrong_result", "backend"),
    "wrong_optimizer": _bug("wrong_result", "backend"),
    "wrong_in_another_mode": _bug("wrong_result", "backend"),
    "wrong_beside_random_numbers": _bug("wrong_result", "backend"),
    "wrong_beside_an_undefined_cast": _bug("wrong_result", "backend"),
    "wrong_beside_a_threshold": _bug("wrong_result", "backend"),
    "attention_without_dropout": _bug("wrong_result", "backend"),
    "attention_with_dropout": _bug("wrong_result", "backend"),
    "second_finding_is_the_bug": _bug("wrong_result", "backend"),
    "hook_added_to_compiled_layer": _bug("stale_graph", "dynamo"),
    "stale_graph_of_a_backend": _bug("stale_graph", "backend", live=True),
    "stale_offset_backend": _bug("stale_graph", "backend", "stale_offset_backend"),
    "cached_code_of_another_float": _bug("stale_graph", "inductor"),
    "cached_code_returns_another_float": _bug("stale_graph", "inductor"),
    "value_is_lost_behind_an_alias": _bug("wrong_result", "inductor"),
    "wrong_once": _fine("not_reproduced", "none"),
    "late_call": _fine("not_reproduced", "none"),
    "stale_graph_of_a_closure": _bug("stale_graph", "dynamo"),
    "relu_of_a_testing_backend": _bug("wrong_result", "backend"),
    "log1p_is_wrong_in_cpp": _bug("wrong_result", "inductor"),
    "branch_of_cond_is_wrong": _bug("wrong_result", "backend"),
    "second_of_two_graphs_is_wrong": _bug("wrong_result", "backend"),
    "wrong_after_a_python_number_changes": _bug("wrong_result", "backend"),
    # -- wrong gradients and metadata --------------------------------------------------------------
    "wrong_gradient_of_a_loss_outside": _bug("wrong_gradient", "backend", live=True),
    "wrong_gradient_accumulated": _bug("wrong_gradient", "backend"),
    "wrong_gradient_of_a_scaled_loss": _bug("wrong_gradient", "backend"),
    "wrong_gradient_of_autograd_grad": _bug("wrong_gradient", "backend"),
    "wrong_gradient_later": _bug("wrong_gradient", "backend"),
    "wrong_backward_inside": _bug("wrong_result", "backend"),
    "memory_budget_dropout_grad": _bug(
        "wrong_gradient", "aot_autograd", "memory_budget_dropout_grad"
    ),
    "right_gradient": _fine("not_reproduced", "none"),
    "wrong_metadata_of_a_backend": _bug("wrong_metadata", "backend", live=True),
    "any_uint8_becomes_bool": _bug("wrong_metadata", "inductor", "any_uint8_becomes_bool"),
    "floor_divide_transposed_strides": _bug(
        "wrong_metadata", "inductor", "floor_divide_transposed_strides"
    ),
    "wrong_sizes_returned": _bug("wrong_metadata", "dynamo", live=True),
    "wrong_strides_returned": _bug("wrong_metadata", "dynamo"),
    "gradient_of_a_checkpoint_is_wrong": _bug("wrong_gradient", "backend"),
    "dtype_wrong_beside_unwritten_memory": _bug("wrong_metadata", "backend"),
    "shape_wrong_beside_random_numbers": _bug("wrong_metadata", "backend"),
    "strides_wrong_beside_rounding": _bug("wrong_metadata", "backend"),
    "dtype_wrong_beside_a_cancellation": _bug("wrong_metadata", "backend"),
    "shape_wrong_beside_an_undefined_cast": _bug("wrong_metadata", "backend"),
    "shape_and_dtype_wrong": _bug("wrong_metadata", "backend"),
    "dtype_wrong_on_meta": _bug("wrong_metadata", "backend"),
    "shape_wrong_on_meta": _bug("wrong_metadata", "backend"),
    # -- side effects on Python's state ------------------------------------------------------------
    "effect_lost_in_a_method": _bug("wrong_metadata", "dynamo", live=True),
    "effect_lost_in_a_scope": _bug("wrong_metadata", "dynamo"),
    "effect_wrong_in_a_full_deque": _bug("wrong_metadata", "dynamo"),
    "effect_lost_in_a_set": _bug("wrong_metadata", "dynamo"),
    "effect_lost_in_a_metaclass": _bug("wrong_metadata", "dynamo"),
    "effect_lost_in_a_key": _bug("wrong_metadata", "dynamo"),
    "effect_lost_in_an_order": _bug("wrong_metadata", "dynamo"),
    "effect_lost_in_a_default": _bug("wrong_metadata", "aot_autograd"),
    "effect_keeps_a_gradient": _bug("wrong_metadata", "backend"),
    "right_clock_in_a_log": _fine("not_reproduced", "none", live=True),
    "right_effects_that_compiling_changes": _fine("not_reproduced", "none", live=True),
    "right_effects_of_random_numbers": _fine("not_reproduced", "none"),
    "right_addresses_as_keys": _fine("not_reproduced", "none"),
    "right_numbers_out_of_tensors": _fine("not_reproduced", "none"),
    "right_caches_that_grow": _fine("not_reproduced", "none"),
    "effect_lost_beside_random_numbers": _bug("wrong_metadata", "dynamo"),
    "effect_lost_beside_rounding": _bug("wrong_metadata", "dynamo"),
    "effect_lost_beside_unwritten_memory": _bug("wrong_metadata", "dynamo"),
    # -- eager refuses -----------------------------------------------------------------------------
    "returns_where_eager_raises": _bug("accepts_invalid", "backend", live=True),
    "addmm_bad_broadcast_accepted": _bug(
        "accepts_invalid", "decomposition", "addmm_bad_broadcast_accepted"
    ),
    "eager_refuses_too": _fine("invalid_program", "eager", live=True),
    "both_refuse_and_the_script_goes_on": _fine("not_reproduced", "none"),
    "operator_writes_undeclared": _fine("invalid_program", "none"),
    "backward_refused_by_eager": _fine("invalid_program", "eager", live=True),
    "unknown_option": _fine("invalid_program", "eager"),
    "fails_before_anything_is_compiled": _fine("invalid_program", "eager"),
    "eager_raises_in_one_run_of_two": _fine("nondeterministic", "eager"),
    "returns_where_a_check_raises": _bug("accepts_invalid", "backend"),
    "both_raise_with_other_words": _fine("not_reproduced", "none"),
    "value_asked_of_meta": _fine("invalid_program", "eager"),
    # -- what excuses a difference -----------------------------------------------------------------
    "deviation_of_one_pass": _fine("ill_conditioned", "none"),
    "sums_of_a_constant_column": _fine("ill_conditioned", "none", live=True),
    "nan_beside_a_cancellation": _bug("wrong_result", "backend"),
    "noise_of_the_program": _fine("nondeterministic", "eager", live=True),
    "clock_in_the_program": _fine("nondeterministic", "eager"),
    "uninitialized_memory": _fine("uninitialized_memory", "eager", live=True),
    "undefined_cast": _fine("undefined_value", "none"),
    "two_writes_to_one_place_reordered": _fine("undefined_value", "none", live=True),
    "rounding_of_cancelled_squares": _fine("rounding", "none"),
    "rounding_in_arrays": _fine("rounding", "none"),
    "rounding_small": _fine("rounding", "none", live=True),
    "rounding_minded_by_nobody": _fine("not_reproduced", "none"),
    "rounding_without_float64": _fine("rounding", "none"),
    "index_where_values_tie": _fine("rounding", "none"),
    "precision_cast_of_half": _fine("precision_cast", "none"),
    "half_where_cast_elision": _fine("precision_cast", "none", "half_where_cast_elision"),
    "rope_bf16_cast_elision": _fine("precision_cast", "none", "rope_bf16_cast_elision"),
    "dropout_with_a_seed": _fine("rng", "none"),
    "dropout_rng_mismatch": _fine("rng", "none", "dropout_rng_mismatch"),
    "numpy_random_numbers": _fine("rng", "none", live=True),
    "unused_random_draw": _fine("rng", "none"),
    "floor_beside_a_threshold": _fine("ill_conditioned", "none", live=True),
    "rows_chosen_at_a_tie": _fine("ill_conditioned", "none"),
    "values_chosen_at_a_tie": _fine("ill_conditioned", "none"),
    "unique_of_sums_at_a_tie": _fine("ill_conditioned", "none"),
    "counts_at_a_tie": _fine("ill_conditioned", "none"),
    "one_over_a_cancellation": _fine("ill_conditioned", "none"),
    "logarithm_of_a_cancellation": _fine("ill_conditioned", "none"),
    "direction_of_a_cancellation": _fine("rounding", "none"),
    "norm_of_a_cancellation": _fine("rounding", "none"),
    "angle_of_a_cancellation": _fine("rounding", "none"),
    # -- asked for ---------------------------------------------------------------------------------
    "recompiles_with_error_on_recompile": _fine("recompiles", "dynamo", live=True),
    "recompiles_under_a_stance": _fine("recompiles", "dynamo"),
    "print_in_one_graph": _fine("unsupported", "dynamo", live=True),
    "one_graph_and_wrong_in_parts": _bug("crash", "dynamo"),
    "tensor_of_a_size": _bug("wrong_metadata", "dynamo"),
    "no_values_on_meta": _fine("not_reproduced", "none"),
    "raises_for_unwritten_memory": _fine("uninitialized_memory", "eager"),
    "recompiles_at_the_limit": _fine("recompiles", "dynamo"),
    "recompiles_with_fullgraph_at_the_limit": _fine("recompiles", "dynamo"),
    "branch_on_values_in_one_graph": _fine("unsupported", "dynamo"),
    "graph_break_in_one_graph": _fine("unsupported", "dynamo"),
    "exec_in_one_graph": _fine("unsupported", "dynamo"),
    "disabled_function_in_one_graph": _fine("unsupported", "dynamo"),
    # -- nothing to find ---------------------------------------------------------------------------
    "right_batch_norm_in_a_loop": _fine("not_reproduced", "none"),
    "right_counter": _fine("not_reproduced", "none"),
    "right_lazy_layer": _fine("not_reproduced", "none"),
    "right_with_options": _fine("not_reproduced", "none"),
    "right_seeded_random": _fine("not_reproduced", "none", live=True),
    "compiles_nothing": _fine("not_reproduced", "none"),
    "check_fails_though_all_agree": _fine("not_reproduced", "none"),
    "exported_before_its_counter_moved": _fine("unsupported", "none"),
    "right_nested_region": _fine("not_reproduced", "none"),
    "right_while_loop": _fine("not_reproduced", "none"),
    "right_checkpoint": _fine("not_reproduced", "none"),
    "right_scan": _fine("not_reproduced", "none"),
    "right_flex_attention": _fine("not_reproduced", "none"),
    "right_factory_on_meta": _fine("not_reproduced", "none"),
    "right_nonzero_in_one_graph": _fine("not_reproduced", "none"),
    "right_weak_reference_in_one_graph": _fine("not_reproduced", "none"),
    "right_value_as_a_size_in_one_graph": _fine("not_reproduced", "none"),
}


def file_of(name: str) -> Path:
    """The program of a case."""
    return scripts.script(CASES[name].script or f"verdicts/{name}")


def watched(name: str, folder: Path) -> Recording:
    """The program of a case, run under the recorder; the caller closes the recording."""
    return watch(file_of(name).read_text(encoding="utf-8"), folder, SCRIPT_LIMIT)


def judged(recording: Recording) -> Diagnosis:
    """The verdict with the limit of this table."""
    return judge(recording, LIMIT, lambda _: None)
