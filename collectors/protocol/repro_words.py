"""Words of the messages that repros and issues are written with, too."""

from __future__ import annotations

from enum import Enum


class Text(str, Enum):
    """A text of a fixed vocabulary; everywhere it is written as its text, and equal to it.
    (`enum.StrEnum` needs Python 3.11.)
    """

    __str__ = str.__str__
    __repr__ = str.__repr__  # what is quoted in a generated program has to be the plain text


class Property(Text):
    """What may differ beside the values of a tensor."""

    DTYPE = "dtype"
    SHAPE = "shape"
    STRIDE = "stride"
    DEVICE = "device"
    REQUIRES_GRAD = "requires_grad"
    IS_LEAF = "is_leaf"
    #: Which tensor's memory it shares.
    ALIAS = "alias"
    #: The containers of the outputs, or their number.
    STRUCTURE = "structure"
    #: Of an output that is no tensor on one side at least.
    TYPE = "type"
    #: An output that is no tensor, or state that both runs wrote differently; what may excuse
    #: values may excuse this.
    PYTHON_VALUE = "python value"
    #: A side effect on Python's state that only one of two runs has, or in another number of items,
    #: or of another type.
    SIDE_EFFECT = "side effect"


#: What begins the message of a repro's own assertion about wrong values: the kind, in words.
VALUES_PREFIXES = ("wrong result:", "wrong gradient:", "stale graph:")
#: The variable that leaves every call to Python, on every release of torch.
DISABLING_VARIABLE = "TORCHDYNAMO_DISABLE"
#: Exit code of a repro, and of the tool, where this machine cannot tell: `git bisect` skips it.
CANNOT_JUDGE_HERE = 125
#: The statement by which a repro in the form of the harness says so.
CANNOT_JUDGE_STATEMENT = f"sys.exit({CANNOT_JUDGE_HERE})"
#: The setting, with its value, of a repro whose failure is that of the compiler's cache: without it
#: a worker compiles each graph itself.
CACHED = ("torch._inductor.config.fx_graph_cache", "True")
#: Compiled values are wrong if they are so many times farther from float64 than eager's.
FARTHER_THAN_EAGER = 8.0


def is_harness(text: str) -> bool:
    """Whether a repro has the form of the harness, which says by itself where it cannot judge."""
    return CANNOT_JUDGE_STATEMENT in text


def needs_cache(text: str) -> bool:
    """Whether a repro switches the compiler's cache on."""
    return " = ".join(CACHED) in text


class CandidateOutcome(Text):
    """How one run of a candidate ended."""

    #: It ran to its end.
    PASSES = "passes"
    #: It raised an exception, which may be that of its own assertion.
    FAILS = "fails"
    #: It says itself that it cannot judge here (exit code `CANNOT_JUDGE_HERE`).
    CANNOT_JUDGE = "cannot_judge"
    #: The process ended.
    DIED = "died"
    #: It was stopped after its limit.
    TIMEOUT = "timeout"
    #: It failed in something else than what was to be compiled, so it says nothing.
    BROKEN = "broken"
    #: Nobody waited for its end.
    CANCELLED = "cancelled"


#: Functions that read one triangle of a factor, with the places of the factor and of `upper`: with
#: respect to the other triangle their derivative is whatever torch's formula gives, so it is looked
#: at where they read (`test/test_ops_gradients.py` of torch does so, too).
TRIANGLES = {"cholesky_inverse": (0, 1), "cholesky_solve": (1, 2)}
#: Where a derivative that is wrong at a point is held against those beside it: how far from it, on
#: both sides, and along which of two directions. Where it grows or turns as the point comes nearer,
#: it has no limit there; nor where it is another one along the other direction, as that of a median
#: of equal elements is.
BESIDE_POINT = ((1e-3, 0), (-1e-3, 0), (1e-4, 0), (-1e-4, 0), (1e-4, 1), (-1e-4, 1))
#: Numbers are one limit where they differ by less, as a share of their size or of 1.
ALIKE = 0.05
#: So many times farther than the values beside the point are from each other has the one at the
#: point to be from them, and so far at least, as a share of their size or of 1.
STANDS_OUT_BESIDE_POINT, LEAST_OFF = 10.0, 1e-3
