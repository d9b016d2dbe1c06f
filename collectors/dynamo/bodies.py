"""The graphs inside of a graph: branches, steps of loops and regions that a higher-order operator
is given.

Each is a program of its own, which takes what one run of it takes. What fails inside of it often
fails without the operator around it, too.
"""

from __future__ import annotations

from typing import Any, Iterator, List, NamedTuple, Tuple

import torch
import torch.fx

#: Nested graphs that are looked at: those of a long model are alike.
MOST = 16


class Body(NamedTuple):
    """A nested graph, and what it is given; tensors and numbers."""

    module: Any
    inputs: Tuple[Any, ...]


def is_higher_order(node: Any) -> bool:
    """Whether a node calls an operator that takes graphs."""
    higher = getattr(torch._ops, "HigherOrderOperator", ())
    return node.op == "call_function" and isinstance(node.target, higher)


def find_bodies(target: Any, args: Tuple[Any, ...]) -> List[Body]:
    """The graphs of one call of a higher-order operator that are run with operands of the call, or
    with a slice of them.

    Those whose inputs the operator makes by itself (`score_mod` of flex attention) are left out.

    Args:
        target: the operator, a `torch._ops.HigherOrderOperator`.
        args: what the call is given: graphs as `torch.fx.GraphModule`, and real tensors, whose
            values may be read to tell which branch is taken.

    Returns:
        An empty list where this release gives the operator something else.
    """
    try:
        found = list(_list_bodies(str(target.name()).split(":")[-1], args))
    except (IndexError, TypeError, ValueError):
        return []  # another release gives the operator something else
    return [
        Body(module, tuple(inputs))
        for module, inputs in found
        if isinstance(module, torch.fx.GraphModule) and _count_inputs(module) == len(inputs)
    ]


def _list_bodies(name: str, args: Tuple[Any, ...]) -> Iterator[Tuple[Any, List[Any]]]:
    if name == "cond":
        pred, true_fn, false_fn, operands = args
        yield (true_fn if bool(pred) else false_fn), _flatten(operands)
    elif name == "while_loop":
        _, body_fn, carried, additional = args
        yield body_fn, _flatten([carried, additional])
    elif name == "scan":
        combine_fn, init, xs, additional = args[:4]
        yield combine_fn, [*_flatten(init), *_take_first_rows(xs), *_flatten(additional)]
    elif name == "associative_scan":
        combine_fn, xs = args[:2]
        yield combine_fn, [*_take_first_rows(xs), *_take_first_rows(xs), *_flatten(args[2:])]
    elif name in ("map", "map_impl"):
        body_fn, xs, additional = args
        yield body_fn, [*_take_first_rows(xs), *_flatten(additional)]
    else:  # regions, checkpoints and contexts: a graph, then its operands
        positions = [at for at, item in enumerate(args) if isinstance(item, torch.fx.GraphModule)]
        if len(positions) == 1:
            operands = [item for item in args[positions[0] + 1 :] if not isinstance(item, str)]
            yield args[positions[0]], _flatten(operands)


def _count_inputs(module: Any) -> int:
    return sum(node.op == "placeholder" for node in module.graph.nodes)


def _flatten(value: Any) -> List[Any]:
    if isinstance(value, (tuple, list)):
        return [item for part in value for item in _flatten(part)]
    return [value]


def _take_first_rows(rows: Any) -> List[Any]:
    """The first row of each tensor that a loop goes through."""
    return [row[0] for row in _flatten(rows)]
