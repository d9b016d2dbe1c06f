"""Small pieces of Python text that a block is written with."""

from __future__ import annotations

import re
from typing import Any

from anonymizer.graph.ir import Atom
from collectors.protocol.captured_trace import Switches


def read_nesting(outs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The nesting of a tuple of names, with whether each of them is left out.

    Args:
        outs: names, None for a value that nobody reads, and tuples of these.

    Returns:
        The same nesting, with True in the place of each None and False in that of each name.
    """
    return tuple(read_nesting(name) if isinstance(name, tuple) else name is None for name in outs)


def write_regions(base: Switches, state: Switches) -> list[str]:
    """The `with` expressions that turn one set of switches into the other.

    Args:
        base: `grad` and `inference` (bool), `autocast` (device type -> enabled, dtype).
        state: the switches inside of the region, in the same form.
    """
    found = []
    if state["inference"] and not base["inference"]:
        found.append("torch.inference_mode()")
    elif state["grad"] != base["grad"]:
        found.append("torch.enable_grad()" if state["grad"] else "torch.no_grad()")
    for device, (enabled, dtype) in state["autocast"].items():
        if [enabled, dtype] != list(base["autocast"][device]):
            on = f", dtype={Atom(dtype).text}" if enabled else ", enabled=False"
            found.append(f'torch.autocast("{device}"{on})')
    return found or ["torch.set_grad_enabled(True)"]


def unroll(shown: list[str]) -> list[str]:
    """`v1[0], v2[0], v1[1], v2[1]` as what a list gives: a line for many layers is as long as one
    for few.
    """
    found: list[str] = []
    at = 0
    while at < len(shown):
        match = [re.fullmatch(r"(v\d+)\[(\d+)\]", text) for text in shown[at:]]
        heads = []
        for item in match:
            if item is None or item.group(2) != "0" or item.group(1) in heads:
                break
            heads.append(item.group(1))
        wanted = 0
        while heads and shown[at + wanted * len(heads) :][: len(heads)] == [
            f"{head}[{wanted}]" for head in heads
        ]:
            wanted += 1
        if wanted > 1:
            several = f"*[value for group in zip({', '.join(heads)}) for value in group]"
            found.append(f"*{heads[0]}" if len(heads) == 1 else several)
            at += wanted * len(heads)
        else:
            found.append(shown[at])
            at += 1
    return found


def wrap_in_checkpoint(text: str, wrap: str) -> str:
    """`self.block1(x, y)` under activation checkpointing.

    Args:
        text: a call as an expression.
        wrap: keyword arguments of `torch.utils.checkpoint.checkpoint`, "" for a plain call.
    """
    if not wrap:
        return text
    called, _, arguments = text.partition("(")
    given = f", {arguments[:-1]}" if arguments != ")" else ""
    return f"torch.utils.checkpoint.checkpoint({called}{given}, {wrap})"


def write_attribute_path(path: str) -> str:
    """`blocks1.0.linear1` as Python: `blocks1[0].linear1`."""
    return re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", path)


def take_last_value(lines: list[str], name: str) -> str:
    """What a body returns: the expression of its last line, if that does nothing but give it this
    name.
    """
    found = re.fullmatch(rf"{re.escape(name)} = (.+)", lines[-1]) if lines else None
    if found is None or not name.isidentifier():
        return name
    lines.pop()
    return found.group(1)
