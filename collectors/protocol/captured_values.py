"""What the graph and the trace of a captured call have in common: values, tensors, operations."""

from __future__ import annotations

from typing import (
    Collection,
    Dict,
    List,
    Literal,
    Mapping,
    Optional,
    Sequence,
    TypedDict,
    Union,
    final,
)

#: Most elements of a tensor that a program people read can spell out.
MOST_VALUES = 1024


@final
class EncodedReference(TypedDict):
    """A value of the program, by its generated name."""

    ref: str


@final
class EncodedAtom(TypedDict):
    """A constant as it is written: `torch.float32`, `...`."""

    atom: str


@final
class EncodedFloat(TypedDict):
    """What JSON has no number for: `nan`, `inf`, `-inf`."""

    float: str


@final
class EncodedDevice(TypedDict):
    """The type of a device."""

    device: str


@final
class EncodedList(TypedDict):
    """A list."""

    list: List[Encoded]


@final
class EncodedTuple(TypedDict):
    """A tuple."""

    tuple: List[Encoded]


@final
class EncodedSlice(TypedDict):
    """Start, stop and step."""

    slice: List[Encoded]


@final
class EncodedDict(TypedDict):
    """Pairs of a text and a value."""

    dict: List[List[Encoded]]


#: An argument or a result: a plain constant, or an object whose one key says what it is.
Encoded = Union[
    None,
    bool,
    int,
    float,
    str,
    EncodedReference,
    EncodedAtom,
    EncodedFloat,
    EncodedDevice,
    EncodedList,
    EncodedTuple,
    EncodedSlice,
    EncodedDict,
]


@final
class TensorLayout(TypedDict):
    """What a tensor is but for its values."""

    shape: List[int]
    #: In elements; None where the layout has none.
    stride: Optional[List[int]]
    #: Without `torch.`.
    dtype: str
    #: Its type.
    device: str
    requires_grad: bool


@final
class ScalarKind(TypedDict):
    """A number: `int` or `float`."""

    scalar: str


#: Of a result, nested as the result is; None for what is neither a tensor nor a number.
ResultLayout = Union[None, TensorLayout, ScalarKind, List["ResultLayout"]]


#: How many elements are like this, from 0 to 1.
Share = Literal["nan_share", "positive_inf_share", "negative_inf_share"]


#: An element of a tensor; a text for what JSON has no number for.
ElementValue = Union[bool, int, float, str]


#: Of a vector, or of a symmetric matrix (`dynamo.value_structure`).
ValueStructure = Literal["ascending", "descending", "identity", "definite"]


class TensorStatistics(TypedDict, total=False):
    """What the values of a tensor are like (`dynamo.value_statistics`); those of an intermediate
    have fewer.
    """

    #: Elements.
    numel: int
    #: Of booleans.
    true_share: float
    #: See `Share`.
    nan_share: float
    positive_inf_share: float
    negative_inf_share: float
    #: What stands for no entry among indices or labels (`dynamo.value_structure`), and how
    #: many elements do, from 0 to 1.
    padding: int
    padding_share: float
    #: Of what is finite; the range is that of the entries alone.
    min: float
    max: float
    mean: float
    std: float
    zero_share: float
    #: Whether all are whole numbers, all the same, all different.
    integral: bool
    constant: bool
    unique: bool
    #: How many different ones there are, where these are few.
    distinct: int
    structure: ValueStructure
    #: Whether the graph converts them to integers.
    cast: bool
    #: The values themselves, where the user has allowed it and they are few.
    values: Optional[List[ElementValue]]
    #: Those of the imaginary parts of complex numbers; the others are of the real parts then.
    imaginary: TensorStatistics


#: An argument of a layer's constructor.
LayerArgument = Union[None, bool, int, float, str, List["LayerArgument"]]

#: A layer of torch.nn: its `class`, the arguments of its constructor that are not the defaults, and
#: whether it is in training mode.
LayerConstructor = TypedDict(
    "LayerConstructor", {"class": str, "kwargs": Dict[str, LayerArgument], "training": bool}
)


#: What an operation is: a call of a `function`, a `method`, a stock layer (`module`) or an
#: `autograd.Function` (`apply`), one that nobody can look into (`opaque` in a graph, `stand_in` in
#: a trace), a region that opens or closes, or a switch of the grad mode.
OperationKind = Literal[
    "function",
    "method",
    "module",
    "apply",
    "opaque",
    "stand_in",
    "enter",
    "exit",
    "grad_mode",
]


class EncodedOperation(TypedDict):
    """An operation, in a graph and in a trace."""

    #: Of its result.
    name: str
    op: OperationKind
    #: Public name.
    target: str
    args: List[Encoded]
    kwargs: Dict[str, Encoded]
    meta: ResultLayout


#: Python's operators in place, as methods have them between underscores (`__iadd__`).
OPERATORS_IN_PLACE: Collection[str] = frozenset(
    "iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor ilshift irshift".split()
)
#: Functions of torch.nn.functional that change their input where `inplace` is set, and the position
#: of that (`torch/nn/functional.py`, the same from 2.0 to 2.15).
_INPLACE_POSITIONS: Mapping[str, int] = {
    **dict.fromkeys("relu relu6 selu silu mish hardsigmoid hardswish".split(), 1),
    **dict.fromkeys("elu celu leaky_relu".split(), 2),
    **dict.fromkeys("dropout dropout1d dropout2d dropout3d threshold hardtanh".split(), 3),
    **dict.fromkeys("alpha_dropout feature_alpha_dropout".split(), 3),
    "rrelu": 4,
}


def is_write(target: str, args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
    """Whether an operation changes a tensor that it is given: in place, or the one of `out`.

    Args:
        target: a method, or a function with its module: `add_`, `__setitem__`, `operator.iadd`,
            `torch.nn.functional.relu`. `operator.and_` has its underscore from Python.
        args: by position; of those that may be constants only the constants are looked at.
        kwargs: by keyword; of a layer those of its constructor.
    """
    module, _, name = target.rpartition(".")
    plain = name.strip("_")
    marked = name.endswith("_") and not name.endswith("__") and module != "operator"
    if marked or plain == "setitem" or plain in OPERATORS_IN_PLACE:
        return True
    position = _INPLACE_POSITIONS.get(plain)
    inplace = kwargs.get("inplace")
    if position is not None and position < len(args):
        inplace = args[position]
    return inplace is True or kwargs.get("out") is not None
