"""Graphs of a few operations, and a pool whose failure is a predicate over texts: reduction on the
host alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from anonymizer.graph.ir import Graph, Input, Node, Recipe, Ref, TensorMeta
from reporter.core.answer import Answer
from reporter.core.kinds import CandidateOutcome

META = TensorMeta((4, 8), "float32", (8, 1))


def failing(fails: Callable[[str], bool]) -> Callable[[str], str]:
    """The outcome of a text that fails where `fails` says so."""
    return lambda text: "fails" if fails(text) else "passes"


def tensor(name: str, kind: str = "input", shape: tuple[int, ...] = (4, 8), **more: Any) -> Input:
    return Input(name, kind, TensorMeta(shape, "float32", None, **more), Recipe("randn"))


def call(name: str, target: str, *args: Any, meta: Any = META, **kwargs: Any) -> Node:
    return Node(name, "function", target, args, tuple(kwargs.items()), meta)


def chain(length: int, culprit: int) -> Graph:
    """`length` unary operations, one of which is `sinh`."""
    nodes = []
    previous = "x0"
    for index in range(length):
        target = (
            "torch.sinh" if index == culprit else ("torch.sin", "torch.cos", "torch.exp")[index % 3]
        )
        nodes.append(call(f"n{index}", target, Ref(previous)))
        previous = f"n{index}"
    return Graph((tensor("x0"),), tuple(nodes), (Ref(previous),))


def build_blocks(blocks: int, culprit: str, at: int) -> Graph:
    """`blocks` equal blocks of six different operations; block `at` has `culprit` in place of its
    `tanh`.
    """
    nodes: list[Node] = []
    previous = "x0"
    for block in range(blocks):
        for target in ("sin", "cos", "exp", "tanh", "sqrt", "abs"):
            name = f"n{len(nodes)}"
            chosen = culprit if (target, block) == ("tanh", at) else f"torch.{target}"
            nodes.append(Node(name, "function", chosen, (Ref(previous),), (), META, (block,)))
            previous = name
    entry = Input("x0", "input", META, Recipe("randn"))
    return Graph((entry,), tuple(nodes), (Ref(previous),))


class TextPool:
    """A pool whose outcome is a function of the text; `asked` has every text that it was given."""

    jobs = 1

    def __init__(self, outcome: Callable[[str], str]) -> None:
        self.outcome = outcome
        self.asked: list[str] = []

    def submit(
        self, text: str, timeout: float | None = None, overrides: Any = None
    ) -> Future[Answer]:
        self.asked.append(text)
        compile(text, "candidate", "exec")  # every candidate is valid Python
        future: Future[Answer] = Future()
        future.set_result(Answer(CandidateOutcome(self.outcome(text))))
        return future
