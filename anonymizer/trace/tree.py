"""The data types of a traced call: a tree of operations inside the module calls that made them, and
what was given from outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from anonymizer.graph.ir import Node, Recipe, StockLayer, TensorMeta
from collectors.protocol.captured_trace import Switches, TracedKind

ROOT = -1


@dataclass(frozen=True)
class GivenTensor:
    """A tensor from outside the call.

    `storage` is equal for views of one memory.

    `earlier` are the shapes that an input had in the calls before this one.
    """

    name: str
    kind: TracedKind
    meta: TensorMeta
    recipe: Recipe
    storage: int | None = None
    offset: int = 0
    earlier: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Module:
    """A module of the user's: its parameters and buffers by attribute, and the stock layer that it
    is, if it is one.
    """

    number: int
    layer: StockLayer | None
    sequential: bool
    training: bool
    state: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Step:
    """An operation in place: `state` are the switches it ran under, `same` the value that it
    changed and returned.

    For a stock layer `module` says which, and `results` names what it returned, nested as it was.
    """

    node: Node
    state: int
    same: str = ""
    module: int | None = None
    wrap: str = ""
    results: tuple[Any, ...] = ()
    function: Function | None = None
    stand_in: StandIn | None = None

    @property
    def in_place(self) -> bool:
        """Whether the value it returned was changed; `x.to(torch.float32)` may return `x` as it
        was.
        """
        if self.function is not None or self.stand_in is not None:
            return True
        return self.node.writes

    @property
    def changes(self) -> bool:
        """Whether it is an opaque operation or an `autograd.Function` that changes what it was
        given.
        """
        opaque = self.stand_in is not None and bool(self.stand_in.mutates)
        return opaque or self.function is not None and self.function.changes

    @property
    def outs(self) -> tuple[Any, ...]:
        """Names of the values that this brings into being."""
        return self.results or (() if self.same else (self.node.name,))

    def list_refs(self) -> Iterator[str]:
        """Names of the values that this reads."""
        yield from self.node.list_refs()


@dataclass(frozen=True)
class ModuleCall:
    """A call of a private module: what it did, which outside values it read, and which of its own
    were read later.

    `wrap` are keyword arguments of `torch.utils.checkpoint.checkpoint`, where that made the call.
    """

    module: int
    items: tuple[Step | ModuleCall, ...]
    state: int
    takes: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    wrap: str = ""

    @property
    def outs(self) -> tuple[str, ...]:
        """Names of the values that this brings into being."""
        return self.leaves

    def list_refs(self) -> Iterator[str]:
        """Names of the values that this reads from outside."""
        yield from self.takes

    def list_steps(self) -> Iterator[Step]:
        """All operations, in order."""
        for item in self.items:
            if isinstance(item, Step):
                yield item
            else:
                yield from item.list_steps()

    def list_calls(self) -> Iterator[ModuleCall]:
        """This call and all calls inside it."""
        yield self
        for item in self.items:
            if isinstance(item, ModuleCall):
                yield from item.list_calls()


@dataclass(frozen=True)
class FunctionContext:
    """What a forward leaves on its `ctx`: `saved` for the backward, `extra` attributes, what it
    marks as changed (`dirty`) and as not differentiable (`constant`), and whether gradients that
    are None are materialized.
    """

    saved: tuple[str, ...]
    extra: tuple[str, ...]
    dirty: tuple[str, ...]
    constant: tuple[str, ...]
    materialize: bool

    @property
    def kept(self) -> tuple[str, ...]:
        """Names of the values that the backward finds again."""
        return (*self.saved, *self.extra)


@dataclass(frozen=True)
class Backward:
    """The backward of a user's `autograd.Function`: its body, the gradients it is given, and what
    it returns for each parameter of the forward.
    """

    call: ModuleCall
    grads: tuple[str, ...]
    returned: tuple[str | None, ...]


@dataclass(frozen=True)
class Function:
    """A user's `autograd.Function`: its forward and, where it was needed, its backward, as calls
    without modules in them.

    `number` says which class it was.
    """

    number: int
    forward: ModuleCall
    backward: Backward | None
    parameters: tuple[str, ...]
    results: tuple[str, ...]
    context: FunctionContext

    @property
    def changes(self) -> bool:
        """Whether it changes what it was given."""
        given = {*self.parameters, *self.context.kept}
        steps = [
            *self.forward.list_steps(),
            *(self.backward.call.list_steps() if self.backward else ()),
        ]
        return bool(self.context.dirty) or any(
            step.same in given and step.in_place for step in steps
        )


@dataclass(frozen=True)
class StandIn:
    """That an operation could not be looked into: `what` it is, and which of its arguments it
    changes.
    """

    what: str
    mutates: tuple[int, ...]


@dataclass(frozen=True)
class TracedProgram:
    """A whole traced call."""

    root: ModuleCall
    modules: Mapping[int, Module]
    given: Mapping[str, GivenTensor]
    outputs: tuple[str, ...]
    states: tuple[Switches, ...]
    metas: Mapping[str, Any] = field(default_factory=dict)

    def find_meta(self, name: str) -> Any:
        """The metadata of a value by its name, as `Graph.find_meta` gives it."""
        given = self.given.get(name)
        return given.meta if given is not None else self.metas.get(name)

    @property
    def statements(self) -> int:
        """Operations of the program, a stock layer counting as one."""
        return sum(step.node.counts for step in self.root.list_steps())
