"""The table of rungs: under which variation the recorded call is made again, by the name that
reports and verdicts cite.
"""

from __future__ import annotations

from collections.abc import Mapping

from collectors.protocol.variation import Rung
from reporter.core.kinds import BELOW_INDUCTOR, CUSTOM, UNBOUND, Backend, Compiler

EAGER, AGAIN, EXACT = "eager mode", "eager mode again", "eager mode in float64"
PERTURBED = "eager mode one ulp off"
PERTURBED_DOWN = "eager mode one ulp the other way"
#: Each element up or down by a random choice of its own; the number is the seed.
NUDGED = tuple(f"eager mode one ulp off at random {seed}" for seed in (1, 2, 3))
FILLED = "eager mode with memory filled"
RECAST = "eager mode with undefined casts changed"
REORDERED = "eager mode with colliding writes reordered"
RESUMMED = "eager mode with sums one after another"
#: With a backward pass of its own, as AOTAutograd traces one.
BACKWARD = "eager mode with a backward pass"
UNDECLARED = "eager mode without undeclared writes"
#: Functions under `functools.lru_cache` are called each time, as Dynamo traces them.
UNCACHED = "eager mode without lru_cache"
#: With other clocks and addresses: what a side effect must not depend on.
OTHER_CLOCK = "eager mode at another time"
#: What the script's own compiled call did; it is judged like a rung, and never measured.
SCRIPT = "script"
#: That call made again, with the graphs that the program had.
COMPILED = "compiled"
#: The script's own compiled call, where the compiler's caches give it nothing.
CACHES_OFF = "caches off"
#: The eager runs that tell which side effects can be compared.
OTHER_RUNS = (AGAIN, OTHER_CLOCK)
NUMPY = "use_numpy_random_stream"
#: With eager's random numbers; with those and the draws whose numbers nobody uses.
FALLBACK_RANDOM, KEPT_DRAWS = "fallback_random", "fallback_random with unused draws"
#: With eager's roundings to half precision.
EMULATED_CASTS = "emulate_precision_casts"
#: Compiled without the earlier calls.
FRESH = "fresh compile"
#: With sizes as symbols or as numbers, and with every size of the inputs marked as dynamic.
DYNAMIC, NOT_DYNAMIC, MARKED_DYNAMIC = "dynamic=True", "dynamic=False", "mark_dynamic"
#: The user's compile, allowed to break the graph.
NO_FULLGRAPH = "fullgraph=False"
#: An exported program: the user's export, its modes, its first steps alone.
EXPORT, PACKAGE, ONNX_RUNTIME = "torch.export", "AOTInductor", "ONNX Runtime"
STRICT, NON_STRICT = "torch.export strict", "torch.export non-strict"
DECOMPOSED = "torch.export decomposed"
#: Exported with the fixes of the dynamic shapes that torch suggests, or without dynamic shapes.
REFINED, STATIC = "torch.export with suggested fixes", "torch.export with static shapes"
#: The same module through torch.compile.
TORCH_COMPILE, TORCH_COMPILE_RANDOM = "torch.compile", "torch.compile with fallback_random"
#: The rungs of an exported program, in the order that localizes a fault.
RUNGS_OF: Mapping[Compiler, tuple[str, ...]] = {
    Compiler.EXPORT: (COMPILED, STRICT, NON_STRICT, EXPORT, TORCH_COMPILE),
    Compiler.AOTI: (COMPILED, EXPORT, DECOMPOSED, PACKAGE, TORCH_COMPILE),
    Compiler.ONNX: (COMPILED, EXPORT, ONNX_RUNTIME),
}
#: The settings with which inductor draws, and rounds to half precision, as eager does.
RANDOM_SETTING = "torch._inductor.config.fallback_random"
CASTS_SETTING = "torch._inductor.config.emulate_precision_casts"
#: Rungs that make the user's own compile or export again; `--rungs` cannot name them.
AS_GIVEN = frozenset({CUSTOM, EXPORT, PACKAGE, ONNX_RUNTIME})
#: Every rung by the name people see, and how it is run. `replay` False leaves out the earlier
#: calls.
RUNGS: Mapping[str, Rung] = {
    EAGER: {"how": "eager"},
    AGAIN: {"how": "eager"},
    EXACT: {"how": "eager", "surroundings": "float64"},
    PERTURBED: {"how": "eager", "perturb": 1},
    PERTURBED_DOWN: {"how": "eager", "perturb": -1},
    **{name: {"how": "eager", "nudge": seed} for seed, name in enumerate(NUDGED, 1)},
    FILLED: {"how": "eager", "surroundings": "memory filled"},
    RECAST: {"how": "eager", "surroundings": "casts changed"},
    REORDERED: {"how": "eager", "surroundings": "writes reordered"},
    RESUMMED: {"how": "eager", "surroundings": "sums in sequence"},
    BACKWARD: {"how": "eager", "each_backward": True},
    UNDECLARED: {"how": "eager", "surroundings": "undeclared writes dropped"},
    UNCACHED: {"how": "eager", "surroundings": "functions uncached"},
    OTHER_CLOCK: {"how": "eager", "surroundings": "circumstances changed"},
    COMPILED: {"how": "reused"},
    CACHES_OFF: {"how": "reused", "fresh": True},
    **{backend.value: {"how": "compiled", "backend": backend.value} for backend in BELOW_INDUCTOR},
    UNBOUND: {"how": "compiled", "backend": Backend.AOT_EAGER.value, "unbound": True},
    Backend.INDUCTOR.value: {"how": "compiled"},
    FALLBACK_RANDOM: {
        "how": "compiled",
        "config": {RANDOM_SETTING: True},
    },
    KEPT_DRAWS: {
        "how": "compiled",
        "keep_draws": True,
        "config": {RANDOM_SETTING: True},
    },
    NUMPY: {
        "how": "compiled",
        "config": {
            "torch._dynamo.config.use_numpy_random_stream": True,
            RANDOM_SETTING: True,
        },
    },
    EMULATED_CASTS: {
        "how": "compiled",
        "config": {CASTS_SETTING: True},
    },
    # a cache on disk may hold the graph of an earlier call
    FRESH: {"how": "compiled", "replay": False, "fresh": True},
    DYNAMIC: {"how": "compiled", "replay": False, "dynamic": True},
    NOT_DYNAMIC: {"how": "compiled", "dynamic": False},
    MARKED_DYNAMIC: {"how": "compiled", "replay": False, "mark_dynamic": True},
    NO_FULLGRAPH: {"how": "compiled", "fullgraph": False},
    STRICT: {"how": "compiled", "strict": True},
    NON_STRICT: {"how": "compiled", "strict": False},
    DECOMPOSED: {"how": "compiled", "steps": ["decompose"]},
    STATIC: {"how": "compiled", "replay": False, "static": True},
    REFINED: {"how": "compiled", "replay": False},
    TORCH_COMPILE: {"how": "compiled", "backend": Backend.INDUCTOR.value},
    TORCH_COMPILE_RANDOM: {
        "how": "compiled",
        "backend": Backend.INDUCTOR.value,
        "config": {RANDOM_SETTING: True},
    },
}
