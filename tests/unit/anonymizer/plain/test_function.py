"""Function bodies as people write them, with the same operations in the same order."""

from __future__ import annotations

import ast

import pytest

from anonymizer.plain.function import (
    return_one_field,
    tidy_functions,
    use_grad_contexts,
)


def tidied(*lines: str, parameters: str = "x") -> list[str]:
    tree = ast.parse(f"def fn({parameters}):\n" + "\n".join("    " + line for line in lines))
    tidy_functions(tree)
    return [line.strip() for line in ast.unparse(tree).splitlines()]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["v0 = torch.min(x, 1)", "return v0[0]"], ["return torch.min(x, 1).values"]),
        (["v0 = torch.frexp(x)", "return v0[1]"], ["return torch.frexp(x).exponent"]),
        (["v0 = x.abs()", "v1 = -v0", "return v1 + v1"], ["y = -x.abs()", "return y + y"]),
        (["y = x.sin_()", "z = x.cos()", "return y + z"], ["return x.sin_() + x.cos()"]),
        (["return torch.sort(x)[1]"], ["return torch.sort(x).indices"]),
        (["x.sin_()", "return None"], ["x.sin_()"]),
        (["return None"], ["return None"]),
        (["return torch.median(x, dim=0)[0]"], ["return torch.median(x, dim=0).values"]),
    ],
)
def test_what_is_used_once_is_written_where_it_is_used(
    lines: list[str], expected: list[str]
) -> None:
    assert tidied(*lines)[1:] == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["y = x", "return x < f(y, y + 1)"], ["return x < f(x, x + 1)"]),
        (["y = x.abs()", "z = y", "z.add_(y)", "return z * y"], None),
        (["y = x", "x = x + 1", "return x * y + y"], ["y = x", "x = x + 1", "return x * y + y"]),
        (["y = x", "y += 1", "return x * y + y"], ["y = x", "y += 1", "return x * y + y"]),
        (["y = SIZE", "return x * y + y"], ["y = SIZE", "return x * y + y"]),
        (["y = x", "f(lambda x: y)", "return x + y"], ["y = x", "f(lambda x: y)", "return x + y"]),
    ],
)
def test_a_value_has_one_name(lines: list[str], expected: list[str] | None) -> None:
    assert tidied(*lines)[1:] == (expected or ["y = x.abs()", "y.add_(y)", "return y * y"])


@pytest.mark.parametrize(
    "lines",
    [
        # the two calls would change places
        ["y = x.sin_()", "return x.cos() + y"],
        # used twice
        ["y = x.sin()", "return y + y"],
        # a row of a tensor, and no field
        ["return torch.max(x, x)[0]"],
        ["return torch.topk(x, 2)[2]"],
        # read after the call
        ["global y", "y = x.sin()", "return y"],
        ["global y", "y = x", "return x + y"],
        # called once, whatever the other values are
        ["y = x.sin()", "return [y + z for z in x]"],
        ["y = x.sin()", "return y if x.dim() else x"],
        ["y = x.sin()", "return x and y"],
    ],
)
def test_what_would_change_the_order_or_the_meaning_stays(lines: list[str]) -> None:
    assert tidied(*lines)[1:] == lines


def test_a_region_returns_its_value() -> None:
    region = "with torch.no_grad():"
    assert tidied(region, "    y = x.sin()", "return y")[1:] == [region, "return x.sin()"]
    twice = [region, "y = x.sin()", "return (y, y)"]
    assert tidied(region, "    y = x.sin()", "return (y, y)")[1:] == twice


@pytest.mark.parametrize(
    ("first", "last", "context"),
    [("False", "True", "torch.no_grad()"), ("True", "False", "torch.enable_grad()")],
)
def test_a_mode_that_is_switched_back_is_a_region(first: str, last: str, context: str) -> None:
    switch = "torch.set_grad_enabled({})".format
    lines = tidied("y = x.sin()", switch(first), "z = y.view(-1)", switch(last), "return z")
    assert lines[1:] == ["y = x.sin()", f"with {context}:", "return y.view(-1)"]
    alone = tidied("y = x.sin()", switch(first), "return (y, y)")
    assert alone[1:] == ["y = x.sin()", f"with {context}:", "return (y, y)"]


@pytest.mark.parametrize("switch", ["torch.set_grad_enabled({})", "torch._C._set_grad_enabled({})"])
def test_each_region_of_several_is_one_and_the_last_ends_with_the_function(switch: str) -> None:
    off, on = switch.format(False), switch.format(True)
    lines = [off, on, off, "y = -x", off, "z = -x", on, "w = -x", off, "u = -x", "return (y, z)"]
    body = "".join(f"    {line}\n" for line in lines)
    assert use_grad_contexts(f"def repro(x):\n{body}").splitlines() == [
        "def repro(x):",
        "    with torch.no_grad():",
        "        y = -x",
        "        z = -x",
        "    w = -x",
        "    with torch.no_grad():",
        "        u = -x",
        "        return (y, z)",
    ]


def test_a_program_that_switches_nothing_stays_word_for_word() -> None:
    text = "def repro(x):\n    return ( -x )"
    assert use_grad_contexts(text) == text


def test_a_variable_of_the_function_around_has_one_name_in_both() -> None:
    counted = ["value1 = 0", "def inner():", "    nonlocal value1", "    value1 = value1 + x"]
    made = tidied(*counted, "return inner")[1:]
    assert [line for line in made if line] == [
        line.strip().replace("value1", "y") for line in counted
    ] + ["return inner"]


@pytest.mark.parametrize("scope", ["global", "nonlocal"])
def test_a_variable_that_is_none_of_the_function_keeps_its_name(scope: str) -> None:
    lines = [f"{scope} value1", "value1 = value1 + x"]
    assert tidied(*lines)[1:] == lines


def test_a_line_stays_readable() -> None:
    long = [f"y = torch.cat([{', '.join(['x'] * 20)}])", "return y.sum()"]
    assert tidied(*long)[1:] == long


def test_generated_names_become_letters_unless_something_is_called_by_them() -> None:
    assert tidied("return value2", parameters="value1, value2") == ["def fn(x, y):", "return y"]
    by_keyword = "def fn(value1):\n    return value1\n\n\ndef g(x):\n    return fn(value1=x)"
    tree = ast.parse(by_keyword)
    tidy_functions(tree)
    assert ast.unparse(tree) == ast.unparse(ast.parse(by_keyword))
    many = ", ".join(f"value{number}" for number in range(9))
    assert tidied("return value1", parameters=many)[0] == f"def fn({many}):"
    assert tidied("v0 = -y", "return v0 * v0", parameters="y")[1:] == ["x = -y", "return x * x"]


@pytest.mark.parametrize(
    ("body", "returned"),
    [
        ("return torch.min(x, 1)", ["return torch.min(x, 1)[0]", "return torch.min(x, 1)[1]"]),
        ("y = torch.frexp(x)\n    return y", ["return y[0]", "return y[1]"]),
        ("return torch.min(x)", []),
        ("y = torch.sort(x)\n    return y[0]", []),
        ("y = torch.sort(x)\n    z = -y[0]\n    return z", []),
    ],
)
def test_one_field_of_a_named_tuple_can_be_returned_alone(body: str, returned: list[str]) -> None:
    texts = return_one_field(f"def repro(x):\n    {body}\n")
    assert [text.splitlines()[-1].strip() for text in texts] == returned
