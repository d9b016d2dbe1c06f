"""What a repro shows, where, and what is made of its program, as enums: the words of a verdict that
are needed below `reporter`, also by `templates`.

Each member is also its text, and is written as that text in JSON, f-strings and SQLite, so a
document holds plain words. `Kind("crash")` reads a word back and raises ValueError, with the known
words, for any other. `CandidateOutcome`, which the target says too, is a `Text` of its side.
"""

from __future__ import annotations

from typing import NoReturn

from collectors.protocol.repro_words import CandidateOutcome as CandidateOutcome
from collectors.protocol.repro_words import Text
from collectors.protocol.repro_words import is_harness as is_harness


class Word(Text):
    """A text of a vocabulary that the host alone knows."""

    @classmethod
    def _missing_(cls, value: object) -> Word:
        known = ", ".join(member.value for member in cls)
        raise ValueError(f"{value!r} is no {cls.__name__}; these are: {known}")


class Kind(Word):
    """What a verdict says of the program. The first nine are bugs of the compiler."""

    #: Eager runs; compiling, or running what was compiled, raises.
    CRASH = "crash"
    #: The first compile runs; compiling again for another shape or value raises.
    CRASH_ON_RECOMPILE = "crash_on_recompile"
    #: The compiled result is farther from float64 than rounding explains.
    WRONG_RESULT = "wrong_result"
    #: The forward pass agrees, the compiled backward pass returns other gradients.
    WRONG_GRADIENT = "wrong_gradient"
    #: Shape, dtype, stride, aliasing or requires_grad of a result is not eager's, or a side effect
    #: on Python's state is lost.
    WRONG_METADATA = "wrong_metadata"
    #: Right when compiled afresh, wrong when an earlier compile is reused: a missing guard.
    STALE_GRAPH = "stale_graph"
    #: Eager raises, the compiled call returns.
    ACCEPTS_INVALID = "accepts_invalid"
    #: The compiled call ends the process by a signal.
    PROCESS_DEATH = "process_death"
    #: Eager ends, the compiled call does not within the limit.
    HANG = "hang"
    #: The program is right, but it is not compiled as one graph.
    GRAPH_BREAK = "graph_break"
    #: The program is right, but it is compiled again and again.
    RECOMPILES = "recompiles"
    #: Torch says itself that it does not support this, and eager runs.
    UNSUPPORTED = "unsupported"
    #: Eager fails in the same way.
    INVALID_PROGRAM = "invalid_program"
    #: Eager differs from eager.
    NONDETERMINISTIC = "nondeterministic"
    #: The difference is gone with eager's random stream (`fallback_random`).
    RNG = "rng"
    #: The difference is gone with `emulate_precision_casts`.
    PRECISION_CAST = "precision_cast"
    #: The compiled result is as close to float64 as eager's.
    ROUNDING = "rounding"
    #: A change of the inputs in the last place moves eager as far.
    ILL_CONDITIONED = "ill_conditioned"
    #: The difference depends on what C++ or torch leave undefined.
    UNDEFINED_VALUE = "undefined_value"
    #: The program reads memory that it never wrote.
    UNINITIALIZED_MEMORY = "uninitialized_memory"
    #: No compiled call that was compared did anything else than eager does.
    NOT_REPRODUCED = "not_reproduced"
    #: The script fails only with the compiler, in something that was not looked at.
    OUTSIDE = "outside"


#: The compiler, or the code that it made, raises.
CRASHES = frozenset({Kind.CRASH, Kind.CRASH_ON_RECOMPILE})
#: Wrong values, which are compared with what eager achieves against float64.
WRONG_VALUES = frozenset({Kind.WRONG_RESULT, Kind.WRONG_GRADIENT, Kind.STALE_GRAPH})
#: Wrong values of the forward pass.
WRONG_OUTPUTS = frozenset({Kind.WRONG_RESULT, Kind.STALE_GRAPH})
#: A difference that a single compile shows, without an earlier one.
WRONG_AT_ONCE = frozenset({Kind.WRONG_RESULT, Kind.WRONG_GRADIENT, Kind.WRONG_METADATA})
#: Wrong without an error: a repro has to compare.
SILENT = WRONG_VALUES | {Kind.WRONG_METADATA, Kind.ACCEPTS_INVALID}
#: What only a second call of the same compiled function shows.
SEVERAL_CALLS = frozenset({Kind.STALE_GRAPH, Kind.CRASH_ON_RECOMPILE})
#: The faults of the compiler, which can be reported.
BUGS = SILENT | CRASHES | {Kind.PROCESS_DEATH, Kind.HANG}
#: The program is right, but slow to no purpose.
RIGHT_BUT_SLOW = frozenset({Kind.GRAPH_BREAK, Kind.RECOMPILES})
#: Differences that floating-point arithmetic explains.
ROUNDED = frozenset({Kind.ROUNDING, Kind.PRECISION_CAST})


class Compiler(Word):
    """What made the callable that a call is made of."""

    #: torch.compile.
    COMPILE = "compile"
    #: torch.export.
    EXPORT = "export"
    #: torch.export, and then AOTInductor.
    AOTI = "aoti"
    #: The exporter to ONNX, whose model runs in ONNX Runtime.
    ONNX = "onnx"
    #: Nothing: a function of torch, called by the program.
    EAGER = "eager"


#: What works on a module that was exported.
EXPORTERS = frozenset({Compiler.EXPORT, Compiler.AOTI, Compiler.ONNX})


class Differentiation(Word):
    """How a repro differentiates its call. Those from `GRADCHECK` on check a derivative in eager
    mode, by `anonymizer.graph.repro.DERIVATIVE_CHECKS`.
    """

    #: Not at all.
    NONE = "none"
    #: By a backward pass of the sum of the outputs.
    SUM = "sum"
    #: By a backward pass with random gradients of the outputs.
    RANDN = "randn"
    #: In forward mode, all inputs moved alike.
    TANGENTS = "tangents"
    #: The first derivative of backward mode, beside finite differences.
    GRADCHECK = "gradcheck"
    #: The second derivative of backward mode, beside finite differences.
    GRADGRADCHECK = "gradgradcheck"
    #: The first derivative of forward mode, beside finite differences.
    FORWARD = "forward"
    #: Backward mode over forward mode, beside finite differences.
    OVER_FORWARD = "over_forward"
    #: Forward mode over the gradient of `torch.func.grad`, beside finite differences.
    OVER_BACKWARD = "over_backward"
    #: Forward mode over itself, beside backward mode over it.
    FORWARD_TWICE = "forward_twice"
    #: The derivative of `torch.func` in inference mode, beside that outside of it.
    IN_INFERENCE = "in_inference"
    #: The gradients of equal elements, beside each other.
    ELEMENTWISE = "elementwise"


class Layer(Word):
    """Which part is at fault. The first four are the steps of torch.compile, in their order."""

    #: The tracer of Python bytecode.
    DYNAMO = "dynamo"
    #: The tracer of forward and backward, and the functionalization.
    AOT_AUTOGRAD = "aot_autograd"
    #: The decompositions into simpler operators, and the partitioner.
    DECOMPOSITION = "decomposition"
    #: Lowering, fusion and the code generators.
    INDUCTOR = "inductor"
    #: A backend that is not torch's.
    BACKEND = "backend"
    #: Triton's own compiler.
    TRITON = "triton"
    #: `torch.export` and what is done with its programs.
    EXPORT = "export"
    #: The packages of AOTInductor: written, loaded, called.
    AOTI = "aoti"
    #: The exporter to ONNX.
    ONNX = "onnx"
    #: The program itself, or an eager kernel.
    EAGER = "eager"
    #: Nothing is at fault.
    NONE = "none"


class Backend(Word):
    """The backends that every torch has, each with one step of the compiler more than the last."""

    #: Dynamo alone: its graph runs in eager mode.
    EAGER = "eager"
    #: With AOTAutograd.
    AOT_EAGER = "aot_eager"
    #: With inductor's decompositions and its partitioner.
    AOT_EAGER_DECOMP_PARTITION = "aot_eager_decomp_partition"
    #: Everything; the default of torch.compile.
    INDUCTOR = "inductor"


#: The rung of a backend that is a callable.
CUSTOM = "custom"
#: With the C++ kernels of operators that have a decomposition as their kernel for autograd: it is
#: met while AOTAutograd traces, but the fault is the decomposition's.
UNBOUND = f"{Backend.AOT_EAGER.value} without bound decompositions"
#: What stands between backend and setting in the name of a row that varies `dynamic`.
DYNAMIC_SUFFIX = ", dynamic="


class RungOutcome(Word):
    """What one variation of a call, or one row of the ablation table, showed."""

    #: It ran and agrees with eager.
    OK = "ok"
    #: It raised an exception.
    RAISES = "raises"
    #: It returned something else than eager.
    DIFFERS = "differs"
    #: The process ended.
    DIED = "died"
    #: It was stopped after its limit.
    TIMEOUT = "timeout"
    #: It was not run: the release cannot, or nobody asked.
    SKIPPED = "skipped"
    #: The measurement itself failed, so it says nothing.
    ERROR = "error"
    #: The program could not be put to the compiler, so it says nothing.
    BROKEN = "broken"


def assert_never(value: NoReturn) -> NoReturn:
    """For the end of a `match`: mypy refuses it where a case is left out. (`typing.assert_never`
    needs Python 3.11.)

    Raises:
        AssertionError: always.
    """
    raise AssertionError(f"{value!r} is not told apart here")
