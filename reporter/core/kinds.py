"""The words of a verdict as enums: what it is, where it is, and what a run of a call showed.

They are `Word`s: each member is also its text. What it is, and what made the callable, stands in
`anonymizer.kinds`, since the texts of repros depend on it; `reporter` has all of them from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, TypeVar

from anonymizer.kinds import BUGS as BUGS
from anonymizer.kinds import CRASHES as CRASHES
from anonymizer.kinds import EXPORTERS as EXPORTERS
from anonymizer.kinds import RIGHT_BUT_SLOW as RIGHT_BUT_SLOW
from anonymizer.kinds import ROUNDED as ROUNDED
from anonymizer.kinds import SEVERAL_CALLS as SEVERAL_CALLS
from anonymizer.kinds import SILENT as SILENT
from anonymizer.kinds import WRONG_AT_ONCE as WRONG_AT_ONCE
from anonymizer.kinds import WRONG_OUTPUTS as WRONG_OUTPUTS
from anonymizer.kinds import WRONG_VALUES as WRONG_VALUES
from anonymizer.kinds import Compiler as Compiler
from anonymizer.kinds import Kind as Kind
from anonymizer.kinds import Word as Word
from reporter.core.errors import UsageError

_W = TypeVar("_W", bound=Word)


def read_word(words: type[_W], word: object, source: str) -> _W | None:
    """The member for a word that stands in `source`, a document of the user's; None where it has
    none.

    Raises UsageError for a word that is not known.
    """
    try:
        return words(word) if word else None
    except ValueError as error:
        raise UsageError(
            f"{source} was not written by this version of bugreport ({error}); update it, or"
            " write the report anew"
        ) from None


class Layer(Word):
    """Which part is at fault. The first four are the steps of torch.compile, in their order."""

    #: The tracer of Python bytecode.
    DYNAMO = "dynamo"
    #: The tracer of forward and backward, and the functionalisation.
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


#: Nothing in torch's compiler that could be searched for a culprit.
UNBACKED = frozenset({Layer.BACKEND, Layer.EXPORT, Layer.AOTI, Layer.ONNX, Layer.EAGER, Layer.NONE})
#: What the settings of inductor reach.
INDUCTOR_LAYERS = frozenset({Layer.DECOMPOSITION, Layer.INDUCTOR})


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


#: The steps below inductor's code generators.
BELOW_INDUCTOR = (Backend.EAGER, Backend.AOT_EAGER, Backend.AOT_EAGER_DECOMP_PARTITION)
#: The first backend that has a layer in it.
BACKEND_OF: Mapping[Layer, Backend] = {
    Layer.DYNAMO: Backend.EAGER,
    Layer.AOT_AUTOGRAD: Backend.AOT_EAGER,
    Layer.DECOMPOSITION: Backend.AOT_EAGER_DECOMP_PARTITION,
    Layer.INDUCTOR: Backend.INDUCTOR,
}
_LAYER_OF = {backend: layer for layer, backend in BACKEND_OF.items()}


def classify_backend(backend: str) -> Layer:
    """The layer that a backend has and the one before it has not; BACKEND for a name that is not
    torch's.
    """
    return _LAYER_OF[Backend(backend)] if backend in _LAYER_OF else Layer.BACKEND


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


class Symptom(Word):
    """Why a call of the script needs an explanation."""

    #: The compiled call raised, eager does not.
    RAISED = "raised"
    #: The process ended in it.
    DIED = "died"
    #: It did not end within the limit.
    HANG = "hang"
    #: It returned, eager raises.
    ACCEPTS = "accepts"
    #: It returned something else than eager.
    DIFFERS = "differs"
    #: Its gradients are others than eager's.
    GRADIENT = "gradient"
    #: Not equal to eager, but within the tolerance.
    SUSPICIOUS = "suspicious"


class CandidateOutcome(Word):
    """How one run of a candidate ended; the words of `collectors.protocol.CandidateOutcome`."""

    #: It ran to its end.
    PASSES = "passes"
    #: It raised an exception, which may be that of its own check.
    FAILS = "fails"
    #: It says itself that it cannot judge here (exit code 125).
    CANNOT_JUDGE = "cannot_judge"
    #: The process ended.
    DIED = "died"
    #: It was stopped after its limit.
    TIMEOUT = "timeout"
    #: It failed in something else than what was to be compiled, so it says nothing.
    BROKEN = "broken"
    #: Nobody waited for its end.
    CANCELLED = "cancelled"


class CheckOutcome(Word):
    """What a check of a repro on one release says."""

    #: It fails as it was reported.
    REPRODUCES = "reproduces"
    #: It passes.
    FIXED = "fixed"
    #: It fails in another way.
    DIFFERENT = "different"
    #: The runs say nothing of the compiler, or not the same.
    CANNOT_JUDGE = "cannot_judge"


#: The repro fails, as it was reported or otherwise.
STILL_FAILING = frozenset({CheckOutcome.REPRODUCES, CheckOutcome.DIFFERENT})


def assert_never(value: NoReturn) -> NoReturn:
    """For the end of a `match`: mypy refuses it where a case is left out. (`typing.assert_never`
    needs Python 3.11.)

    Raises AssertionError.
    """
    raise AssertionError(f"{value!r} is not told apart here")
