"""A recorded call as graphs, as a trace or as source, and whether what was made of it does the
same.
"""

from __future__ import annotations

from typing import Dict, List, Literal, Optional, TypedDict, Union

from .calls import CallAnswer, SentRequest
from .captured_graph import GraphJson
from .captured_trace import TraceJson
from .comparison import BatchComparison, ListComparison, OperatorComparison, TensorNumbers
from .program_source import GatheredJson
from .words import TorchSettings


class _CaptureWay(TypedDict):
    #: With the earlier calls before it.
    replay: bool


class CaptureWay(_CaptureWay, total=False):
    """How a graph is captured."""

    dynamic: Union[bool, str, None]


class CaptureRequest(CaptureWay, SentRequest):
    """The Dynamo graphs of the call."""

    op: Literal["capture"]
    #: Tensors whose values may be captured, by name.
    allow: List[str]


class CaptureAnswer(CallAnswer, total=False):
    """The graphs that the call ran, in order."""

    graphs: List[GraphJson]
    #: Class of what the call raised.
    error: Optional[str]


class TraceWay(TypedDict):
    """How a call is traced."""

    #: Into custom operators; else each is one operation, of which only the outside is known.
    look_inside: bool
    #: With empty caches under `functools.lru_cache`, whose results do not tell where a size is
    #: from.
    empty_caches: bool


class TraceRequest(SentRequest):
    """The operations of the call within the modules that make them."""

    op: Literal["trace"]
    #: Tensors whose values may be noted, by name.
    allow: List[str]
    way: TraceWay


class TraceAnswer(CallAnswer, total=False):
    """The trace."""

    trace: TraceJson


class EquivalenceRequest(SentRequest):
    """Whether a rewritten model computes what the call computes; the trace that it was written from
    is made again.
    """

    op: Literal["equivalence"]
    #: Text that defines the model, and the expression for it.
    text: str
    callable: str
    #: Public path of a parameter or buffer -> traced name.
    mapping: Dict[str, str]
    #: Traced names of the arguments.
    arguments: List[str]
    #: Public path of a stock layer -> number of the traced module.
    layers: Dict[str, int]
    #: Mode of the model.
    training: bool
    #: Functions of the text for which the call's own opaque operations are put in.
    stand_ins: List[str]
    #: How the call was traced.
    way: TraceWay
    #: Path for the target's own use.
    file: str


class SourceEquivalenceRequest(SentRequest):
    """Whether rewritten source computes what the call computes."""

    op: Literal["source_equivalence"]
    #: Text that defines the callable and `inputs()`, and the expression for the callable.
    text: str
    callable: str
    #: Pairs of a public expression and the id of a gathered tensor or stock layer.
    tensors: List[List[str]]
    #: Path for the target's own use.
    file: str


class EquivalenceAnswer(CallAnswer, total=False):
    """The proof, or what contradicts it; `raises` has a `detail`."""

    outputs: ListComparison
    gradients: ListComparison
    #: What the call was given, after it.
    buffers: ListComparison
    operators: OperatorComparison
    #: Public path of the first layer that computes something else, where values differ.
    layer: Optional[str]
    #: With one more row in the batch; missing where the call does not accept that.
    batch: BatchComparison


class _DivergenceRequest(SentRequest):
    op: Literal["divergence"]
    ask: Literal["nodes", "measure"]
    #: With the earlier calls before it.
    replay: bool
    config: TorchSettings


class DivergenceRequest(_DivergenceRequest, total=False):
    """The operations of the call's graphs; `measure` compares prefixes of one of them."""

    #: Number of the graph, from 0.
    graph: int
    #: Positions to measure, from 0; None: the whole graph.
    positions: List[Optional[int]]
    #: By gradients.
    grads: bool
    #: In place of the call's own.
    backend: Optional[str]
    #: Half-precision noise is expected from this position on.
    coarse_from: Optional[int]
    #: File for the `PrefixLine`s.
    results: str


class GraphNode(TypedDict):
    """One operation of a graph (`dynamo.prefix.describe`)."""

    #: `torch.softmax`, `Tensor.view`; None without a public name.
    operator: Optional[str]
    #: Of its first tensor, as text.
    dtype: Optional[str]
    measurable: bool
    differentiable: bool
    #: Positions that it reads.
    inputs: List[int]
    #: Whether it changes a tensor in place.
    writes: bool


class GraphShape(TypedDict):
    """The operations of one graph."""

    nodes: List[GraphNode]
    #: Positions that its outputs are.
    outputs: List[int]


class NumberedGraph(GraphShape):
    """The same with the number of the graph, from 0."""

    graph: int


class DivergenceAnswer(CallAnswer, total=False):
    """The graphs that the call ran; nothing for `measure`."""

    graphs: List[NumberedGraph]
    #: Class of what the call raised.
    error: Optional[str]


class PrefixLine(TensorNumbers, total=False):
    """A line of the file of `measure`: first `begun`, then how a prefix compares, or why not."""

    position: Optional[int]
    begun: bool
    #: As in `TensorJudgment`.
    equal: bool
    same: bool
    #: Class of an exception, or `not reached`; with the end of its text.
    error: str
    detail: str


class GatherRequest(SentRequest):
    """The program's source and state."""

    op: Literal["gather"]


class GatherAnswer(CallAnswer, total=False):
    """The program."""

    gathered: GatheredJson
    #: What argparse made of the command line: Python's notation of each plain value.
    parsed: Dict[str, str]
