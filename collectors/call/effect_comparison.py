"""How the side effects of two runs of one call differ.

What is compared is what the call changed: where the two runs began with different state nothing is
said. Whatever another eager run does differently is left out first, so that neither a clock nor an
address is blamed on the compiler.
"""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Sequence

from ..protocol.comparison import MetadataDifference
from ..protocol.repro_words import Property
from .outputs import SavedEffects, Snapshot
from .python_state.leaves import Leaf
from .python_state.walk import PythonState

_MOST = 20
#: Numbers that the program took out of tensors carry their rounding, in half precision as well.
_TOLERANCE = 1e-2


def find_differences(
    reference: Snapshot, actual: Snapshot, again: Sequence[Snapshot]
) -> List[MetadataDifference]:
    """The side effects of `actual` that are not those of `reference`; none where either was not
    noted.

    Args:
        again: other eager runs of the same call.
    """
    one, two = reference.get("effects"), actual.get("effects")
    if not one or not two:
        return []
    others = [run.get("effects") for run in again]
    found: List[MetadataDifference] = []
    for number, label in enumerate(one["after"]):
        if label in two["after"] and len(found) < _MOST:
            differs = _Node(label, one, two, others).find_difference(
                "Python state {}".format(number)
            )
            if differs is not None:
                found.append(differs)
    return found


class _Node:
    """One object, function or class in the notes of all runs."""

    def __init__(
        self,
        label: str,
        one: SavedEffects,
        two: SavedEffects,
        others: Sequence[Optional[SavedEffects]],
    ) -> None:
        self.label = label
        self.before = self._find_fields(one["before"]), self._find_fields(two["before"])
        self.after = self._find_fields(one["after"]), self._find_fields(two["after"])
        self.others = [self._find_fields(run["after"]) if run else None for run in others]

    def _find_fields(self, state: PythonState) -> Dict[str, Leaf]:
        return state.get(self.label) or {}

    def find_difference(self, where: str) -> Optional[MetadataDifference]:
        """The gravest difference of this node."""
        found: Optional[MetadataDifference] = None
        for field in sorted({*self.after[0], *self.after[1]}, key=lambda name: name != "length"):
            told = self._compare_field(where, field)
            if told is not None and told["property"] == Property.SIDE_EFFECT:
                return told
            found = found or told
        return found

    def _compare_field(self, where: str, field: str) -> Optional[MetadataDifference]:
        begin = self.before[0].get(field)
        if not _are_equal(begin, self.before[1].get(field)):
            return None  # the runs did not begin with the same state
        eager, compiled = self.after[0].get(field), self.after[1].get(field)
        if _are_alike(eager, compiled) or not self._is_steady(field, eager):
            return None
        grave = (
            _are_equal(begin, eager)
            or _are_equal(begin, compiled)
            or eager is None
            or compiled is None
            or eager[0] != compiled[0]
            or eager[0] in ("length", "tuple", "tensor")
            and _measure_size(eager) != _measure_size(compiled)
        )
        is_kept = [_are_equal(begin, one) for one in (eager, compiled)]
        return {
            "where": where,
            "property": Property.SIDE_EFFECT if grave else Property.PYTHON_VALUE,
            "eager": _describe(eager, is_kept[0]),
            "compiled": _describe(compiled, is_kept[1]),
        }

    def _is_steady(self, field: str, eager: Optional[Leaf]) -> bool:
        """Whether every other eager run did the same; keys that come and go have no peers."""
        for other in self.others:
            if other is None or not _are_alike(eager, other.get(field)):
                return False
            new = {name for name in self.after[0] if name not in self.before[0]}
            if field not in self.before[0] and field != "length":
                if new != {name for name in other if name not in self.before[0]}:
                    return False
        return True


def _measure_size(value: Leaf) -> Any:
    if value[0] == "tensor":
        return value[1:3]
    return len(value[1]) if isinstance(value[1], tuple) else value[1]


def _are_equal(one: Optional[Leaf], two: Optional[Leaf]) -> bool:
    """The same, NaN being equal to NaN."""
    return one == two or repr(one) == repr(two)


def _are_alike(one: Any, two: Any) -> bool:
    """The same up to rounding."""
    if isinstance(one, float) and isinstance(two, float):
        near = math.isclose(one, two, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE / 10)
        return near or one != one and two != two
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(map(_are_alike, one, two))
    return bool(one == two)


def _describe(value: Optional[Leaf], is_kept: bool) -> str:
    """A value in words that say nothing of the program: lengths, whole numbers and public types."""
    if value is None:
        text = "nothing"
    elif value[0] == "length":
        text = "{} item{}".format(value[1], "" if value[1] == 1 else "s")
    elif value[0] in ("int", "bool", "setting"):
        text = str(value[1])
    elif value[0] == "NoneType":
        text = "None"
    elif value[0] == "tensor":
        text = "{} tensor of shape {}".format(value[1].split(".")[-1], list(value[2]))
    elif value[0] in ("float", "complex", "str", "tuple"):
        text = "a {}".format(value[0])
    elif value[0] == "elements":
        text = "a set"
    elif value[0] == "order":
        text = "an order of keys"
    else:
        text = "an object"
    return text + (" (as before the call)" if is_kept else "")
