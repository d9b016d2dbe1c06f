"""Integers that remember where they were read, so that size arithmetic of a traced program stays
arithmetic.

`x.size(1) // 2` gives a `Size` whose derivation says so; only one that a later operation takes
becomes part of the trace. To everything else it is an `int`: comparing, indexing and counting with
it see nothing unusual.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Tuple

Derivation = Tuple[Any, ...]


class Size(int):
    """An int read from a tensor.

    `derivation`: ("size", tensor's trace name, dimension), ("op", operator's name, operands), or
    ("item", trace name).
    """

    derivation: Derivation

    def __new__(cls, value: int, derivation: Derivation) -> Size:
        made = super().__new__(cls, value)
        made.derivation = derivation
        return made

    def __deepcopy__(self, memo: Any) -> Size:
        return self

    def __reduce__(self) -> Any:
        return int, (int(self),)


#: What changes nothing is not worth a statement.
_NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "floordiv": 1}


def _make_operation(name: str, swapped: bool) -> Callable[[Size, Any], Any]:
    plain = getattr(int, "__{}{}__".format("r" if swapped else "", name))
    public = "operator." + name

    def apply(self: Size, other: Any) -> Any:
        if type(other) not in (int, Size):
            return plain(self, other)  # NotImplemented for a tensor, a float where it is one
        result = plain(self, other)
        if type(result) is not int:
            return result
        if int(other) == _NEUTRAL.get(name) and not (swapped and name in ("sub", "floordiv")):
            return self
        operands = (other, self) if swapped else (self, other)
        return Size(result, ("op", public, operands))

    return apply


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    assert hasattr(operator, _name)
    setattr(Size, "__{}__".format(_name), _make_operation(_name, False))
    setattr(Size, "__r{}__".format(_name), _make_operation(_name, True))


def _negate(self: Size) -> Size:
    return Size(-int(self), ("op", "operator.neg", (self,)))


Size.__neg__ = _negate  # type: ignore[method-assign, assignment]
