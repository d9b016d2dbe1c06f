"""The switches a user can turn to get around a compiler bug, per layer, with what each one means in
words.

A switch costs 1 if it turns off one optimization or a cache, 2 if it gives up a whole class of
them, 3 if it changes how everything is compiled or run. Order is the order in which they are tried:
likeliest first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from collectors.protocol.words import PlainValue, TorchSettings
from reporter.core.kinds import Kind, Layer

INDUCTOR = "torch._inductor.config."
_FUNCTORCH = "torch._functorch.config."
DYNAMO = "torch._dynamo.config."
Settings = tuple[tuple[str, PlainValue], ...]
_Changes = TypeVar("_Changes", bound="CompileChanges")


@dataclass(frozen=True, kw_only=True)
class CompileChanges:
    """What is changed of the way a program is compiled; what is None or empty stays as it is.

    `config` are settings of torch, `dynamic` and `mode` arguments of torch.compile, `threads` those
    of torch's pool; of the operators in `fallback` Inductor calls eager's kernels, those in
    `undecomposed` are not decomposed.
    """

    config: Settings = ()
    dynamic: bool | None = None
    mode: str | None = None
    threads: int | None = None
    fallback: tuple[str, ...] = ()
    undecomposed: tuple[str, ...] = ()

    def merge(self: _Changes, others: Iterable[CompileChanges]) -> _Changes:
        """These and further ones; of contradicting ones the last counts."""
        found = self
        for other in others:
            found = replace(
                found,
                config=tuple({**dict(found.config), **dict(other.config)}.items()),
                dynamic=found.dynamic if other.dynamic is None else other.dynamic,
                mode=other.mode or found.mode,
                threads=other.threads or found.threads,
                fallback=(*found.fallback, *other.fallback),
                undecomposed=(*found.undecomposed, *other.undecomposed),
            )
        return found

    def contradicts(self, other: CompileChanges) -> bool:
        """Whether the two cannot be made together."""
        both_dynamic = self.dynamic is not None and other.dynamic is not None
        return both_dynamic or not dict(self.config).keys().isdisjoint(dict(other.config))


@dataclass(frozen=True)
class ConfigSwitch(CompileChanges):
    """One change of the way the program is compiled, as a user would make it; `Variation` in
    `experiment.py` is what runs, with any number of them.

    `device` is where it can matter: cpu, cuda or both ("").

    A `directed` one names the culprit that was found; others may help by accident.
    """

    name: str
    meaning: str
    cost: int = 1
    device: str = ""
    directed: bool = False

    @property
    def setting(self) -> str:
        """How a user writes it."""
        parts = [f"{name} = {value!r}" for name, value in self.config]
        if self.dynamic is not None:
            parts.append(f"torch.compile(..., dynamic={self.dynamic})")
        if self.mode is not None:
            parts.append(f"torch.compile(..., mode={self.mode!r})")
        if self.threads is not None:
            parts.append(f"torch.set_num_threads({self.threads})")
        parts += [
            f"torch._inductor.lowering.make_fallback(torch.ops.{operator})"
            for operator in self.fallback
        ]
        parts += [
            f"torch._inductor.decomposition.decompositions.pop(torch.ops.{operator})"
            for operator in self.undecomposed
        ]
        return "; ".join(parts)


def build_fallback_switch(operator: str) -> ConfigSwitch:
    """Inductor calls eager's kernel for one operator."""
    meaning = f"eager's kernel for {operator}"
    return ConfigSwitch(f"fallback {operator}", meaning, fallback=(operator,), directed=True)


def build_whole_switch(operator: str) -> ConfigSwitch:
    """One operator is not decomposed; Inductor then calls eager's kernel for it."""
    meaning = f"{operator} is not decomposed"
    return ConfigSwitch(f"whole {operator}", meaning, undecomposed=(operator,), directed=True)


def build_pass_switch(name: str) -> ConfigSwitch:
    """Inductor skips one of its graph passes, where a release lets one name it."""
    config = ((INDUCTOR + "disabled_passes", name),)
    return ConfigSwitch(f"without {name}", f"graph pass {name} off", config=config, directed=True)


def build_change_switch(name: str, value: Any) -> ConfigSwitch:
    """A change of configuration that torch's own bisector tries."""
    return ConfigSwitch(
        name.rpartition("config.")[2], "a change torch's bisector tries", config=((name, value),)
    )


def _read_switches(prefix: str, table: str) -> tuple[ConfigSwitch, ...]:
    """Rows `name = value | cost | device | meaning`."""
    found = []
    for row in table.strip().splitlines():
        setting, cost, device, meaning = (part.strip() for part in row.split("|"))
        name, _, value = setting.partition(" = ")
        config = ((prefix + name, _VALUES[value] if value in _VALUES else int(value)),)
        found.append(ConfigSwitch(setting, meaning, int(cost), device, config=config))
    return tuple(found)


_VALUES: dict[str, PlainValue] = {
    "True": True,
    "False": False,
    "1.0": 1.0,
    "off": "off",
    "strict": "strict",
}

_DYNAMIC = (
    ConfigSwitch("dynamic=False", "every shape compiled for itself", dynamic=False, cost=2),
    ConfigSwitch("dynamic=True", "shapes as symbols from the start", dynamic=True, cost=2),
)
_THREADS = ConfigSwitch("one thread", "generated loops run on one thread", threads=1, cost=3)

_DYNAMO = (
    _read_switches(
        DYNAMO,
        """
    guard_nn_modules = True                    | 1 | | guards on the attributes of modules
    automatic_dynamic_shapes = False           | 1 | | a changed size stays a constant
    assume_static_by_default = False           | 1 | | sizes are symbols from the start
    inline_inbuilt_nn_modules = False          | 1 | | stock modules are called, not inlined
    specialize_float = True                    | 1 | | Python floats are constants
    specialize_float = False                   | 1 | | Python floats are inputs
    specialize_int = True                      | 1 | | Python integers are constants
    specialize_int_float = False               | 1 | | Python numbers are inputs
    allow_unspec_int_on_nn_module = True       | 1 | | integer attributes of modules are inputs
    capture_scalar_outputs = True              | 1 | | .item() stays in the graph
    capture_dynamic_output_shape_ops = True    | 1 | | operators like nonzero stay in the graph
    skip_nnmodule_hook_guards = False          | 1 | | guards on the hooks of modules
    guard_nn_modules_using_dict_tags = False   | 1 | | module guards without dictionary versions
    skip_tensor_guards_with_matching_dict_tags = False | 1 | | tensor guards are always evaluated
    skip_no_tensor_aliasing_guards_on_parameters = False | 1 | | guards on aliasing of parameters
    skip_guards_on_constant_func_defaults = False | 1 | | guards on default arguments
    use_lamba_guard_for_object_aliasing = False | 1 | | guards on object identity in C++
    assume_dunder_attributes_remain_unchanged = False | 1 | | guards on special attributes
    force_parameter_static_shapes = False      | 1 | | sizes of parameters may be symbols
    force_nn_module_property_static_shapes = False | 1 | | sizes of module attributes may be symbols
    rewrite_assert_with_torch_assert = False   | 1 | | assert breaks the graph
    enable_dynamo_decompositions = False       | 1 | | Dynamo decomposes nothing
    trace_numpy = False                        | 1 | | NumPy calls break the graph
    dead_code_elimination = False              | 1 | | unused code is kept
    prefer_deferred_runtime_asserts_over_guards = True | 1 | | checks at run time instead of guards
    fake_tensor_cache_enabled = False          | 1 | | no cache of operator shapes
    use_lazy_graph_module = False              | 1 | | graph modules are compiled at once
    nested_graph_breaks = True                 | 1 | | a graph break inside a call resumes inside it
    enable_trace_contextlib = False            | 1 | | context managers break the graph
    enable_faithful_generator_behavior = False | 1 | | generators are run ahead
    optimize_ddp = False                       | 1 | | no splitting for data parallel
    """,
    )
    + _read_switches(
        "torch.fx.experimental._config.",
        """
    use_duck_shape = False                     | 1 | | equal sizes are separate symbols
    backed_size_oblivious = True               | 1 | | no specialisation on sizes 0 and 1
    """,
    )
)

_AOT = _read_switches(
    _FUNCTORCH,
    """
    view_replay_for_aliased_outputs = False    | 1 | | views of outputs are rebuilt by as_strided
    view_replay_for_aliased_outputs = True     | 1 | | views of outputs are replayed
    cse = False                                | 1 | | no sharing of common subexpressions
    donated_buffer = False                     | 1 | | the backward pass reuses no saved tensor
    activation_memory_budget = 1.0             | 1 | | no recomputation to save memory
    functionalize_rng_ops = True               | 1 | | random operators with explicit state
    functionalize_rng_ops = False              | 1 | | random operators with hidden state
    graphsafe_rng_functionalization = False    | 1 | cuda | no random state for CUDA graphs
    backward_pass_autocast = off               | 1 | | the backward pass without autocast
    guess_tangent_strides_as_outputs = False   | 1 | | incoming gradients are assumed contiguous
    disable_guess_zero_tangent_for_mutated_input_subclass = True | 1 | | no guessed gradients
    treat_parameters_as_free_to_save = False   | 1 | | parameters count as memory
    recompute_views = True                     | 1 | | views are recomputed
    aggressive_recomputation = True           | 2 | | the backward pass recomputes nearly everything
    ban_recompute_used_far_apart = False       | 1 | | recompute what is used far apart
    ban_recompute_long_fusible_chains = False  | 1 | | recompute long chains
    ban_recompute_materialized_backward = False | 1 | | recompute what the backward pass stores
    ban_recompute_not_in_allowlist = False     | 1 | | recompute other operators
    ban_recompute_reductions = False           | 1 | | recompute reductions
    remat_using_tags_for_fwd_loss_bwd_graph = False | 1 | | no recomputation by tags
    unlift_effect_tokens = True                | 1 | | effects without tokens in the signature
    decompose_custom_triton_ops = False        | 1 | cuda | Triton operators stay whole
    static_weight_shapes = False               | 1 | | sizes of weights may be symbols
    use_dynamic_shapes = True                  | 1 | | symbolic shapes in tracing
    """,
)

_INDUCTOR = _read_switches(
    INDUCTOR,
    """
    cpp.simdlen = 1                            | 2 | cpu | scalar code instead of vector code
    max_fusion_size = 1                        | 2 | | every operation in a loop of its own
    pattern_matcher = False                    | 2 | | no pattern rewrites of the graph
    emulate_precision_casts = True             | 1 | | rounds to half precision where eager does
    fallback_random = True                     | 1 | | eager's random numbers
    split_reductions = False                   | 1 | | reductions in one step
    unroll_reductions_threshold = 1            | 1 | | short reductions stay loops
    inplace_buffers = False                    | 1 | | results are not written over inputs
    allow_buffer_reuse = False                 | 1 | | memory is not given out twice
    comprehensive_padding = False              | 1 | | strides are not padded
    layout_optimization = False                | 1 | | no change to channels last
    keep_output_stride = False                 | 1 | | strides of outputs are free
    strict_output_strides = True               | 1 | | outputs get eager's strides
    pick_loop_orders = False                   | 1 | | loops in the order of the operator
    loop_ordering_after_fusion = False         | 1 | | no reordering of loops for fusion
    loop_index_inversion_in_fusion = False     | 1 | | no inversion of indices for fusion
    loop_reindexing_after_fusion = False       | 1 | | no new indices after fusion
    epilogue_fusion = False                    | 1 | | nothing fused behind a matrix product
    prologue_fusion = False                    | 1 | | nothing fused before a matrix product
    cpp.simdlen = 256                          | 1 | cpu | 256-bit vector code
    cpp.enable_loop_tail_vec = False           | 1 | cpu | scalar code for the ends of loops
    cpp.enable_tiling_heuristics = False       | 1 | cpu | vectorizes wherever it can
    cpp.max_horizontal_fusion_size = 1         | 1 | cpu | independent loops stay apart
    cpp.weight_prepack = False                 | 1 | cpu | weights stay as they are
    cpp.min_chunk_size = 1                     | 1 | cpu | small loops run on several threads too
    cpp.no_redundant_loops = False             | 1 | cpu | loops are not merged
    cpp.fallback_scatter_reduce_sum = True     | 1 | cpu | eager's kernel for adding scatters
    cpp.enable_unsafe_math_opt_flag = False    | 1 | cpu | no unsafe mathematics in C++
    realize_reads_threshold = 1                | 1 | | results that are read twice are stored
    realize_opcount_threshold = 1              | 1 | | every result is stored
    realize_cpu_opcount_threshold = 1          | 1 | cpu | every result is stored
    delay_realize_cheap_outputs = False        | 1 | | outputs are stored at once
    reorder_for_locality = False               | 1 | | operators stay in order
    reorder_for_peak_memory = False            | 1 | | kernels stay in order
    use_pre_grad_passes = False                | 2 | | no graph passes before autograd
    use_joint_graph_passes = False             | 2 | | no graph passes on the joint graph
    use_post_grad_passes = False               | 2 | | no graph passes after autograd
    joint_graph_constant_folding = False       | 1 | | constants are not folded
    constant_and_index_propagation = False     | 1 | | constants are not propagated into indices
    optimize_scatter_upon_const_tensor = False | 1 | | scatters into constants stay scatters
    max_pointwise_cat_inputs = 0               | 1 | | concatenation is no pointwise operation
    split_cat_fx_passes = False                | 1 | | no rewrites of split and cat
    online_softmax = False                     | 1 | | softmax in separate passes
    shape_padding = False                      | 1 | | shapes of matrices are not padded
    inplace_padding = False                    | 1 | | padding copies
    batch_fusion = False                       | 1 | | operators are not batched
    apply_gumbel_max_trick = False             | 1 | | sampling as written
    enable_auto_functionalized_v2 = False      | 1 | | mutation of custom operators the older way
    keep_addmm_fused_for_half_dtypes = False   | 1 | | addmm in half precision is taken apart
    deterministic = True                       | 2 | | only choices that do not depend on timing
    strict_signed_zero = True                  | 1 | | the sign of zero as in eager
    numerics = strict                          | 2 | | the arithmetic of eager
    memory_planning = False                    | 1 | | no memory planning
    max_autotune = False                       | 1 | | no search for the fastest kernels
    max_autotune_gemm = False                  | 1 | | no search for the fastest matrix product
    freezing = False                           | 1 | | weights are not constants
    cpp_wrapper = False                        | 1 | | the wrapper in Python
    permute_fusion = False                     | 1 | | permutations are not fused
    aggressive_fusion = False                  | 1 | | only fusions that save memory traffic
    combo_kernels = False                      | 1 | | independent kernels stay apart
    conv_1x1_as_mm = False                     | 1 | | convolutions stay convolutions
    dce = False                                | 1 | | unused code is kept
    size_asserts = False                       | 2 | | sizes and strides are not checked
    alignment_asserts = False                  | 2 | | alignment is not checked
    triton.cudagraphs = False                  | 1 | cuda | no CUDA graphs
    triton.persistent_reductions = False       | 1 | cuda | reductions in loops
    triton.cooperative_reductions = False      | 1 | cuda | reductions in one block each
    triton.mix_order_reduction = False         | 1 | cuda | no mixed orders of reduction
    triton.use_block_ptr = False               | 1 | cuda | plain pointers
    triton.divisible_by_16 = False             | 1 | cuda | no assumptions on alignment
    triton.emit_pointer_range_32 = False       | 1 | cuda | no assumptions on pointer ranges
    triton.coalesce_tiling_analysis = False    | 1 | cuda | tiling the older way
    triton.tile_reductions = False             | 1 | cuda | reductions are not tiled
    triton.autotune_pointwise = False          | 1 | cuda | one configuration of each kernel
    triton.multi_kernel = 0                    | 1 | cuda | one kernel of each kind
    triton.max_tiles = 1                       | 1 | cuda | one-dimensional kernels
    triton.codegen_upcast_to_fp32 = False      | 1 | cuda | half precision stays
    eager_numerics.division_rounding = True    | 1 | cuda | division as in eager
    eager_numerics.use_pytorch_libdevice = True | 1 | cuda | mathematical functions of eager
    eager_numerics.disable_ftz = True          | 1 | cuda | denormal numbers are kept
    use_static_cuda_launcher = False           | 1 | cuda | kernels are launched by Triton
    dynamic_scale_rblock = False               | 1 | cuda | block sizes are not scaled
    fallback_by_default = True                 | 3 | | nearly everything by eager's kernels
    """,
)

CACHES = ConfigSwitch(
    "caches off", "no graph from a cache", config=((INDUCTOR + "force_disable_caches", True),)
)
#: Only for exceptions of the compiler itself.
SUPPRESS = ConfigSwitch(
    "suppress_errors = True",
    "what cannot be compiled runs in eager",
    cost=3,
    config=((DYNAMO + "suppress_errors", True),),
)
#: What a compiler engineer asks first, whatever the culprit: scalar code, no fusion, no pattern
#: rewrites, one thread.
AXES = ("cpp.simdlen = 1", "max_fusion_size = 1", "pattern_matcher = False", "one thread")
#: What changes the loops of the generated code alone: they compute values, and no dtype, shape or
#: stride.
_LOOPS = (
    "cpp.simdlen = 1",
    "cpp.simdlen = 256",
    "cpp.enable_loop_tail_vec = False",
    "cpp.enable_tiling_heuristics = False",
    "cpp.min_chunk_size = 1",
    "cpp.enable_unsafe_math_opt_flag = False",
    "one thread",
)
_DEFAULT_MODE = ConfigSwitch("mode default", "the default mode", mode="default")

#: What is tried for a bug of each layer; a later layer's bug may also depend on what the earlier
#: ones hand it.
SWITCHES: dict[Layer, tuple[ConfigSwitch, ...]] = {
    Layer.DYNAMO: (*_DYNAMIC, *_DYNAMO),
    Layer.AOT_AUTOGRAD: (*_DYNAMIC, *_AOT, *_DYNAMO),
    Layer.DECOMPOSITION: (*_DYNAMIC, *_AOT),
    Layer.INDUCTOR: _INDUCTOR[:3] + _DYNAMIC + (_THREADS,) + _INDUCTOR[3:] + _AOT[:4],
    Layer.BACKEND: _DYNAMIC,
}


def select_switches(
    layer: Layer,
    kind: Kind,
    device: str,
    settings: TorchSettings | None,
    mode: str | None = None,
) -> list[ConfigSwitch]:
    """The switches worth trying for a bug, in the order of the table.

    Args:
        layer: the one at fault.
        kind: of the bug; wrong metadata does not depend on the loops of the generated code.
        device: `cpu` or `cuda`; switches of the other one are left out.
        settings: the present values of those that a release has; None: not known. A switch that
            changes none of them is left out.
        mode: the user's `mode=` of torch.compile; with one the default mode comes first.
    """
    table = (_DEFAULT_MODE, *SWITCHES.get(layer, ())) if mode else SWITCHES.get(layer, ())
    return [
        switch
        for switch in table
        if switch.device in ("", device)
        and not (kind == Kind.WRONG_METADATA and switch.name in _LOOPS)
        and (settings is None or _changes(switch, settings))
    ]


def _changes(switch: ConfigSwitch, settings: TorchSettings) -> bool:
    """Whether the release has it and it is not set so already. True is no 1 here."""
    return all(name in settings for name, _ in switch.config) and (
        not switch.config
        or any(
            settings[name] != value or type(settings[name]) is not type(value)
            for name, value in switch.config
        )
    )


def list_setting_names(switches: Iterable[ConfigSwitch]) -> list[str]:
    """The configuration names behind switches."""
    return sorted({name for switch in switches for name, _ in switch.config})
