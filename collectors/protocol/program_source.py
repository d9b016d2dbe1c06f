"""A program as the text of its functions and the state of its objects, as JSON.

The collectors write it (`source.source`) and the anonymizer reads it, so a misspelled key is an
error of mypy on either side. A key of a class with `total=False` may be missing. Standard library
only.
"""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, Tuple, TypedDict, Union

# -- values ----------------------------------------------------------------------------------------


class ConstantReference(TypedDict):
    """A constant; `text` says that the value is one, else it is Python's notation."""

    kind: Literal["const"]
    value: str
    text: bool


class NumpyReference(TypedDict):
    """A scalar of NumPy: its type, and Python's notation of its number."""

    kind: Literal["numpy"]
    name: str
    value: str


class NamedReference(TypedDict):
    """What everybody has by this name."""

    kind: Literal["module", "torch", "stdlib", "builtin", "device"]
    name: str


class RecordReference(TypedDict):
    """What has a record in a table; an `array` of NumPy is the tensor that lies in its memory."""

    kind: Literal["tensor", "array", "instance", "function", "class"]
    id: str


#: A frozenset is a set, a deque a list.
SequenceKind = Literal["list", "tuple", "set"]


class _SequenceReference(TypedDict):
    kind: SequenceKind
    items: List[Reference]


class _DictReference(TypedDict):
    kind: Literal["dict"]
    items: List[Tuple[Reference, Reference]]


class _CollectionType(TypedDict, total=False):
    #: `collections.deque` and such, where it is one.
    type: str
    #: Of a defaultdict.
    factory: Reference
    #: Of a deque.
    longest: Reference


class SequenceReference(_SequenceReference, _CollectionType):
    """A list, a tuple or a set."""


class DictReference(_DictReference, _CollectionType):
    """A dictionary."""


class _PlaceholderReference(TypedDict):
    kind: Literal["placeholder"]
    shape: List[int]


class PlaceholderReference(_PlaceholderReference, total=False):
    """A tensor of an earlier call that is no more."""

    #: The same for the same tensor; recordings of older versions have none.
    number: int


class LoggerReference(TypedDict):
    """A logger."""

    kind: Literal["logger"]


#: What makes something that hands out numbers one after another.
GeneratorName = Literal[
    "random.Random",
    "torch.Generator",
    "itertools.count",
    "numpy.random.default_rng",
    "numpy.random.RandomState",
]


class GeneratorReference(TypedDict):
    """A generator of random numbers, or a counter, that is made anew; `number` is the same for the
    same object.
    """

    kind: Literal["generator"]
    name: GeneratorName
    args: List[Reference]
    number: int


class PartialReference(TypedDict):
    """A `functools.partial`."""

    kind: Literal["partial"]
    function: Reference
    args: List[Reference]
    kwargs: Dict[str, Reference]


class FunctionReference(TypedDict):
    """A default factory, or a function that is compiled as a region of its own."""

    kind: Literal["factory", "region"]
    function: Reference


class MethodReference(TypedDict):
    """A bound method."""

    kind: Literal["method"]
    owner: Reference
    name: str


#: A member of an enum: its `name`, or for flags put together their `value`.
MemberReference = TypedDict(
    "MemberReference",
    {"kind": Literal["member"], "class": "Reference", "name": str, "value": "Reference"},
    total=False,
)


class OperatorReference(TypedDict):
    """An operator that the program registers with torch.library."""

    kind: Literal["operator"]
    function: Reference
    #: Type in torch's notation, and default.
    arguments: List[Tuple[str, Optional[str]]]
    #: How many come before those that are given by keyword only.
    keywords: int
    #: Type in torch's notation.
    returns: str
    fake: Optional[Reference]
    backward: Optional[Reference]
    setup: Optional[Reference]


class OpaqueReference(TypedDict):
    """What cannot be followed, and why, in public words."""

    kind: Literal["opaque"]
    reason: str


#: A value.
Reference = Union[
    ConstantReference,
    NumpyReference,
    NamedReference,
    RecordReference,
    SequenceReference,
    DictReference,
    PlaceholderReference,
    LoggerReference,
    GeneratorReference,
    PartialReference,
    FunctionReference,
    MethodReference,
    MemberReference,
    OperatorReference,
    OpaqueReference,
]

# -- records ---------------------------------------------------------------------------------------


class FunctionRecord(TypedDict):
    """A function."""

    name: str
    #: Of its file, from 1.
    line: int
    module: str
    source: str
    #: What its global and captured names are, and dotted names that begin with a module.
    refs: Dict[str, Reference]
    chains: Dict[str, Reference]
    defaults: List[Reference]
    kwdefaults: Dict[str, Reference]


class MethodRecord(TypedDict):
    """A method, and how it is bound: plain, static, class, property, cached_property, setter."""

    method: str
    function: Reference


#: Which sort of class it is.
ClassShape = Literal["enum", "namedtuple", "dataclass", "class"]


class ClassRecord(TypedDict, total=False):
    """A class; `frozen` is for dataclasses."""

    name: str
    #: Whether it is a module, and an `autograd.Function`.
    module: bool
    function: bool
    shape: ClassShape
    bases: List[Reference]
    methods: Dict[str, MethodRecord]
    #: Of properties.
    setters: Dict[str, MethodRecord]
    attributes: Dict[str, Reference]
    #: With their defaults; members of an enum with their values.
    fields: List[Tuple[str, Optional[Reference]]]
    slots: List[str]
    #: Names that torch or Python gives a meaning.
    overrides: List[str]
    #: Whether its constructor was gathered.
    init_seen: bool
    frozen: bool


class StockArguments(TypedDict, total=False):
    """How a stock layer is made; `factory` is for the dtype and the device of its parameters."""

    args: Dict[str, Reference]
    factory: Dict[str, str]


_InstanceRecord = TypedDict("_InstanceRecord", {"class": "Reference"}, total=False)


class InstanceRecord(_InstanceRecord, total=False):
    """An object and its `class`; all but the first two keys are for modules."""

    module: bool
    state: Dict[str, Reference]
    training: bool
    stock: Optional[StockArguments]
    #: Of a container.
    items: List[Tuple[str, Reference]]
    #: Names of those attributes that are buffers.
    buffers: List[str]
    #: Whether no parameter of a stock layer requires a gradient.
    frozen: bool
    #: Ids of those of a stock layer.
    parameters: Dict[str, Optional[str]]


class SpecStatistics(TypedDict, total=False):
    """What the values of a tensor are like."""

    numel: int
    #: Of floats; see `captured_values.Share`.
    nan_share: float
    positive_inf_share: float
    negative_inf_share: float
    #: As in `captured_values.TensorStatistics`.
    padding: int
    padding_share: float
    #: Of what is finite and no padding.
    min: float
    max: float
    integral: bool
    #: Whether all are different.
    distinct: bool
    #: constant, arange, tril, triu, eye; or a `captured_values.ValueStructure`.
    pattern: Optional[str]
    #: The values of a tiny tensor of small whole numbers.
    small: List[int]


class TensorSpec(TypedDict, total=False):
    """A tensor; empty where it could not be looked at."""

    shape: List[int]
    #: Without `torch.`, as the layout.
    dtype: str
    layout: str
    device: str
    requires_grad: bool
    is_leaf: bool
    is_parameter: bool
    #: In elements, for a strided one.
    stride: List[int]
    offset: int
    stats: SpecStatistics


# -- the program -----------------------------------------------------------------------------------


class CallArguments(TypedDict):
    """What a call was given."""

    args: List[Reference]
    kwargs: Dict[str, Reference]


class GatheredJson(CallArguments):
    """A call with all that it reaches; the tables are by id."""

    version: int
    entry: Reference
    backend: Optional[Reference]
    #: Those that can be told.
    earlier: List[CallArguments]
    functions: Dict[str, FunctionRecord]
    classes: Dict[str, ClassRecord]
    instances: Dict[str, InstanceRecord]
    tensors: Dict[str, TensorSpec]
    #: Ids of tensors that lie in the same memory.
    storages: List[List[str]]
    #: What cannot be rebuilt, in public words.
    problems: List[str]
