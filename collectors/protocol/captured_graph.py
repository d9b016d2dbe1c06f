"""A captured Dynamo graph in the graph IR, as JSON.

The collectors write it and the anonymizer reads it.
"""

from __future__ import annotations

from typing import Dict, List, Literal, TypedDict, Union, final

from .captured_values import (
    Encoded,
    EncodedOperation,
    LayerConstructor,
    TensorLayout,
    TensorStatistics,
)

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
