"""A captured trace: the operations of a call within the modules that make them, as JSON.

The collectors write it and the anonymizer reads it.
"""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, Tuple, TypedDict, Union, final

from .captured_values import (
    Encoded,
    EncodedOperation,
    EncodedReference,
    LayerConstructor,
    ResultLayout,
    TensorLayout,
    TensorStatistics,
)


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


#: What a tensor is to the traced call, as `InputKind`; a `constant` was there before the call, and
#: is none of these.
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
