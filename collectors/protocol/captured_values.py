"""What the graph and the trace of a captured call have in common: values, tensors, operations."""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, TypedDict, Union, final


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
Share = Literal["zero_share", "nan_share", "positive_inf_share", "negative_inf_share"]


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
    zero_share: float
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
