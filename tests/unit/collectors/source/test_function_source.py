"""The text of a function without the class that it was written in."""

from __future__ import annotations

import ast
import math
import textwrap
from typing import Any

import pytest

from collectors.source.function_source import find_node, unparse

METHOD = """
    def forward(self, __x, *, __by=2):
        def __scale(__y):
            nonlocal __total
            __total += __y
            return call(__y, __by=__by)
        __total = 0
        class __Kept:
            __seen = self.__seen
            def __read(self):
                return self.__seen
        import math as __math
        try:
            return __scale(__x) + __Kept().__read()
        except ValueError as __error:
            return __error, __x.__class__, __math
    """


class _Sample:
    """What Python makes of the names."""

    def forward(self, __x: int, *, __by: int = 2) -> dict[str, object]:
        __total = __x
        return locals()


def test_private_names_of_a_class_are_those_that_python_makes_of_them() -> None:
    assert set(_Sample().forward(1)) == {"self", "_Sample__x", "_Sample__by", "_Sample__total"}
    text = unparse(ast.parse(textwrap.dedent(METHOD)).body[0], "_Sample")
    assert text.startswith("def forward(self, _Sample__x, *, _Sample__by=2):")
    names = {
        getattr(node, field)
        for node in ast.walk(ast.parse(text))
        for field in ("id", "attr", "name", "asname")
        if isinstance(getattr(node, field, None), str)
    }
    assert {name for name in names if name.startswith("__")} == {"__class__"}
    assert {"_Sample__scale", "_Sample__error", "_Sample__math", "_Sample__Kept"} <= names
    assert "nonlocal _Sample__total" in text and "call(_Sample__y, __by=_Sample__by)" in text
    assert "_Kept__seen = self._Kept__seen" in text and "return self._Kept__seen" in text
    assert "_Sample__Kept()._Sample__read()" in text, "as Python has it, which finds no such method"


def test_what_is_in_no_class_keeps_its_names_but_for_those_of_a_class_in_it() -> None:
    text = "def f(__x):\n    class A:\n        __y = 1\n    return A._A__y + __x"
    expected = text.replace("        __y", "\n        _A__y")
    assert unparse(ast.parse(text).body[0], "").replace("\n\n", "\n") == expected.replace(
        "\n\n", "\n"
    )


K = 3


class _Private:
    pair: Any = (lambda self: self.__x), (lambda self: self.__y)


LAMBDAS: dict[str, Any] = {
    "lambda x: math.cos(x)": ((lambda x: math.sin(x)), (lambda x: math.cos(x)))[1],
    "lambda self: self.__y": _Private.pair[1],
    "lambda x: x + K": ((lambda x: x + K), (lambda x: x - K))[0],
    "lambda x: x - K": ((lambda x: x + K), (lambda x: x - K))[1],
    "lambda x: x * 2.0": ((lambda x: x * 2), (lambda x: x * 2.0))[1],
    "lambda x: [y - K for y in x]": ((lambda x: [y + K for y in x]), (lambda x: [y - K for y in x]))[1],
    "lambda x: x in {'a', 'c'}": ((lambda x: x in {"a", "b"}), (lambda x: x in {"a", "c"}))[1],
}  # fmt: skip


@pytest.mark.parametrize("text", LAMBDAS)
def test_of_two_lambdas_on_a_line_each_is_itself(text: str) -> None:
    node = find_node(LAMBDAS[text])
    assert node is not None and ast.unparse(node) == text


def test_lambdas_of_a_function_read_what_it_has() -> None:
    def make(by: int) -> Any:
        return (lambda x: x + by), (lambda x: x - by), (lambda x: (lambda y: y * by)(x))

    nodes = [find_node(function) for function in make(2)]
    assert [ast.unparse(node) for node in nodes if node] == [
        "lambda x: x + by",
        "lambda x: x - by",
        "lambda x: (lambda y: y * by)(x)",
    ]
