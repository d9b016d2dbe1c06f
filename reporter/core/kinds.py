"""The words of a verdict as enums: what it is, where it is, and what a run of a call showed.

They are `Word`s: each member is also its text. What the texts of repros, issues and pages depend on
stands in `anonymizer.kinds`; `reporter` has all of them from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from anonymizer.kinds import BUGS as BUGS
from anonymizer.kinds import CRASHES as CRASHES
from anonymizer.kinds import CUSTOM as CUSTOM
from anonymizer.kinds import DYNAMIC_SUFFIX as DYNAMIC_SUFFIX
from anonymizer.kinds import EXPORTERS as EXPORTERS
from anonymizer.kinds import RIGHT_BUT_SLOW as RIGHT_BUT_SLOW
from anonymizer.kinds import ROUNDED as ROUNDED
from anonymizer.kinds import SEVERAL_CALLS as SEVERAL_CALLS
from anonymizer.kinds import SILENT as SILENT
from anonymizer.kinds import UNBOUND as UNBOUND
from anonymizer.kinds import WRONG_AT_ONCE as WRONG_AT_ONCE
from anonymizer.kinds import WRONG_OUTPUTS as WRONG_OUTPUTS
from anonymizer.kinds import WRONG_VALUES as WRONG_VALUES
from anonymizer.kinds import Backend as Backend
from anonymizer.kinds import CandidateOutcome as CandidateOutcome
from anonymizer.kinds import Compiler as Compiler
from anonymizer.kinds import Differentiation as Differentiation
from anonymizer.kinds import Kind as Kind
from anonymizer.kinds import Layer as Layer
from anonymizer.kinds import RungOutcome as RungOutcome
from anonymizer.kinds import Word as Word
from anonymizer.kinds import assert_never as assert_never
from reporter.core.errors import UsageError

_W = TypeVar("_W", bound=Word)


def read_word(words: type[_W], word: object, source: str) -> _W | None:
    """The member of a vocabulary for a word of a document of the user's.

    Args:
        words: the vocabulary.
        word: as it stands there; None or an empty text where there is none.
        source: what messages call the document.

    Returns:
        None where there is no word.

    Raises:
        UsageError: the word is not known.
    """
    try:
        return words(word) if word else None
    except ValueError as error:
        raise UsageError(
            f"{source} was not written by this version of bugreport ({error}); update it, or"
            " write the report anew"
        ) from None


#: What the settings of inductor reach.
INDUCTOR_LAYERS = frozenset({Layer.DECOMPOSITION, Layer.INDUCTOR})
#: The steps below inductor's code generators.
BELOW_INDUCTOR = (Backend.EAGER, Backend.AOT_EAGER, Backend.AOT_EAGER_DECOMP_PARTITION)
#: The first backend that has a layer in it; of the layers in which a culprit can be searched for.
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
