"""What is captured of a call, as JSON: its graph in the graph IR, its trace.

The collectors write these documents and the anonymizer reads them, so a misspelt key is an error of
mypy on either side. A key of a class with `total=False` may be missing. Standard library only.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, List, Literal, Optional, Tuple, TypedDict, Union, final

# -- words that repros and issues are written with, too -------------------------------------------


class Text(str, Enum):
    """A word that both sides know; everywhere it is written as its text, and equal to it."""

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


class CandidateOutcome(Text):
    """How one run of a candidate ended."""

    #: It ran to its end.
    PASSES = "passes"
    #: It raised an exception, which may be that of its own assertion.
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


# -- values ----------------------------------------------------------------------------------------


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
    #: Of what is finite.
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
    #: Whether the graph converts them to integers.
    cast: bool
    #: The values themselves, where the user has allowed it and they are few.
    values: Optional[List[ElementValue]]


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


# -- a graph ---------------------------------------------------------------------------------------

#: What a tensor is to its program: an argument, or state of the module.
InputKind = Literal["input", "param", "buffer"]

#: Sizes of a tensor; those that vary are the text of their expression.
Symbols = List[Union[int, str]]


class _GraphOperation(EncodedOperation):
    #: Numbers of the modules that it is in, outermost first.
    block: List[int]


class GraphOperation(_GraphOperation, total=False):
    """An operation of a graph."""

    symbols: Symbols
    stats: TensorStatistics
    #: For the op `module`.
    module: LayerConstructor


class InputAlias(TypedDict):
    """That a tensor lies in the memory of another input."""

    of: str
    #: Elements from that one's beginning.
    offset: int


class _GraphInput(TypedDict):
    name: str
    kind: InputKind
    meta: TensorLayout


class GraphInput(_GraphInput, total=False):
    """A tensor that a graph is given."""

    symbols: Symbols
    stats: TensorStatistics
    alias: InputAlias


@final
class CapturedGraph(TypedDict):
    """A graph (`dynamo.translator`)."""

    inputs: List[GraphInput]
    nodes: List[GraphOperation]
    outputs: List[Encoded]
    #: What successive runs gave its symbolic sizes, oldest first.
    runs: List[Dict[str, int]]


@final
class UnsupportedGraph(TypedDict):
    """Why a graph has no public form."""

    unsupported: str


#: A Dynamo graph in the graph IR, or why it cannot be one; read by `anonymizer.graph.ir_json`.
GraphJson = Union[CapturedGraph, UnsupportedGraph]

# -- a trace ---------------------------------------------------------------------------------------


class Switches(TypedDict):
    """What operations run under."""

    grad: bool
    inference: bool
    #: By device type: whether it is on, and the dtype.
    autocast: Dict[str, Tuple[bool, str]]


class OpaqueOperation(TypedDict):
    """That nobody can look into an operation."""

    #: In public words.
    what: str
    #: Positions of the tensors that it changes.
    mutates: List[int]


class _TracedOperation(EncodedOperation):
    #: Index into `states`.
    state: int


@final
class TracedOperation(_TracedOperation, total=False):
    """An operation of a trace."""

    #: The value that it changed in place and returned.
    same: str
    stand_in: OpaqueOperation
    #: For the op `apply`: names of the tensors it returned, None for a single one.
    results: Optional[List[str]]
    function: TracedFunction


@final
class OpaqueArgument(TypedDict):
    """What the IR cannot hold; always 1."""

    opaque: int


#: Which values a module returned, nested as it returned them; None for what is no tensor.
ReturnedNames = Union[None, EncodedReference, List["ReturnedNames"]]


class CheckpointArguments(TypedDict):
    """Those of `torch.utils.checkpoint.checkpoint`."""

    use_reentrant: bool


class _TracedCall(TypedDict):
    #: Number of the module.
    call: int
    items: List[TracedItem]
    state: int
    args: List[Union[Encoded, OpaqueArgument]]
    kwargs: Dict[str, Union[Encoded, OpaqueArgument]]
    result: ReturnedNames


@final
class TracedCall(_TracedCall, total=False):
    """A call of a module, or of a function under a checkpoint."""

    wrap: CheckpointArguments


TracedItem = Union[TracedOperation, TracedCall]


class TracedBlock(TypedDict):
    """Operations that stand together, under these switches."""

    items: List[TracedItem]
    state: int


class TracedBackward(TracedBlock):
    """The backward of an `autograd.Function`."""

    #: Names of the gradients that it is given.
    grads: List[str]
    #: Names of those that it returns, by parameter.
    returned: List[Optional[str]]


class ContextFlags(TypedDict):
    """What a forward asked of its `ctx`."""

    #: Names of results that it marks as changed, and as not differentiable.
    dirty: List[str]
    constant: List[str]
    #: Whether gradients that are None are made zeros.
    materialize: bool


class TracedFunction(ContextFlags):
    """An `autograd.Function`."""

    #: Which class it is.
    number: int
    #: Names of its tensors inside.
    parameters: List[str]
    metas: Dict[str, ResultLayout]
    forward: TracedBlock
    results: List[str]
    #: For its backward.
    saved: List[str]
    backward: Optional[TracedBackward]


class TracedModule(TypedDict):
    """A module."""

    id: int
    training: bool
    #: Whether it is a plain `nn.Sequential`.
    sequential: bool
    stock: Optional[LayerConstructor]
    #: Numbers.
    children: List[int]
    #: Pairs of an attribute and the name of a tensor.
    state: List[List[str]]


#: The same in a trace: a `constant` is neither, and was there before the call.
TracedKind = Literal["input", "param", "buffer", "constant"]


class _TracedTensor(TypedDict):
    name: str
    kind: TracedKind
    meta: TensorLayout


class TracedTensor(_TracedTensor, total=False):
    """A tensor that the traced program was given."""

    stats: TensorStatistics
    #: The same for tensors in one memory, and where in it, in elements.
    storage: int
    offset: int


class TracedNames(TypedDict):
    """What the user calls modules (path and class, by number) and tensors; never shown."""

    modules: Dict[str, List[str]]
    tensors: Dict[str, str]


class PrivateNames(TracedNames):
    """The same with the classes of `autograd.Function`s, by number."""

    functions: Dict[str, str]


class TraceJson(TypedDict):
    """The trace of a whole call (`trace.trace`); read by `anonymizer.trace.reading`."""

    #: What was done, as a tree.
    root: List[TracedItem]
    #: In which the call was made.
    state: int
    #: Number of the module that was called.
    owner: Optional[int]
    outputs: List[EncodedReference]
    states: List[Switches]
    modules: List[TracedModule]
    tensors: List[TracedTensor]
    #: What could not be followed.
    reasons: List[str]
    #: Shapes of the tensors of earlier calls, in the order of the arguments.
    earlier: List[List[List[int]]]
    private: PrivateNames
