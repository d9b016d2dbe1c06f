"""A gathered program rebuilt under generated names: what is kept of it, and what never is."""

from __future__ import annotations

import ast
import sys
from typing import Any

import pytest

from anonymizer.source.dead_code import find_undefined
from anonymizer.source.rewriting import rebuild
from anonymizer.source.symbols.names import PublicNames
from tests.support.gathered import handmade


def test_unknown_attribute_names_are_never_kept() -> None:
    made = rebuild(
        handmade("def f(x):\n    return x.secret_method(x.size(0)).real"), {"size", "real"}
    )
    text = made.write_definitions()
    assert "secret_method" not in text
    assert ".size(0)" in text and ".real" in text


@pytest.mark.parametrize(
    ("spec", "kept"), [(":04d", ":d"), (":>12.3f", ":f"), (":.1%", ":%"), (":>9", ""), ("!r", "!r")]
)
def test_of_a_format_the_letter_stays_that_an_object_may_not_know(spec: str, kept: str) -> None:
    source = 'def f(x):\n    return x + len(f"{x.size(0)' + spec + '}")'
    text = rebuild(handmade(source), {"size"}).write_definitions()
    assert ".size(0)" + kept + "}" in text


@pytest.mark.parametrize(
    ("called", "is_result"), [("retain_grad", True), ("mul_", True), ("__len__", False)]
)
def test_a_result_whose_gradient_is_asked_for_is_no_leaf(called: str, is_result: bool) -> None:
    gathered = handmade(f"def f(x):\n    x.{called}()\n    return x.sin()")
    gathered["tensors"]["t0"].update(requires_grad=True, is_leaf=False)
    made = rebuild(gathered, {"retain_grad", "mul_", "sin"})
    assert any(line.endswith(").clone()") for line in made.write_inputs()) is is_result


def test_no_name_of_a_pattern_is_kept() -> None:
    source = """def f(x):
    match {"a": x, "c": 3}:
        case {"a": y, **secret_margin}:
            return y
        case [y, *secret_rest] | (y, secret_rest):
            return secret_rest
"""
    made = rebuild(handmade(source), ())
    assert "secret" not in made.write_definitions() and made.problems == ()
    ast.parse(made.write_definitions())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are of Python 3.12")
def test_no_name_of_a_type_parameter_is_kept() -> None:
    source = (
        "def f(x):\n    def g[Secret: int](y: Secret) -> Secret:\n        return y\n    return g(x)"
    )
    made = rebuild(handmade(source), ())
    assert "Secret" not in made.write_definitions() and made.problems == ()


def test_generated_names_avoid_private_ones() -> None:
    made = rebuild(
        handmade("def f(value1, arg1):\n    value2 = value1 + arg1\n    return value2", 2), ()
    )
    private = {"value1", "value2", "arg1", "f"}
    names = {node.id for node in ast.walk(made.definitions) if isinstance(node, ast.Name)}
    assert not names & private


def test_what_is_declared_nonlocal_may_be_captured_and_local() -> None:
    source = """
def f(x):
    total = 0
    def add():
        nonlocal total, count
        total += 1
        count += 1
    add()
    return x + total + count
"""
    gathered = handmade(source)
    captured = {"kind": "const", "value": "3", "text": False}
    gathered["functions"]["f0"]["refs"]["count"] = captured
    made = rebuild(gathered, ())
    text = made.write_definitions()
    assert f"global state1\n        nonlocal {made.private.mapping['total']}\n" in text
    assert not find_undefined(made)


def test_members_of_a_local_class_are_bound_under_the_names_by_which_they_are_read() -> None:
    source = """
def f(x):
    class Local:
        width = 3
        scale = 2
        sizes = [2 * n for n in range(width)]
        @property
        def twice(self):
            return self.width * 2 * offset
        @staticmethod
        def move(y):
            return y + scale
    made = Local()
    return Local.move(x) * made.width + made.twice + made.scale + made.sizes[0]
"""
    gathered = handmade(source)
    for name, number in (("scale", "5"), ("offset", "7")):
        given = {"kind": "const", "value": number, "text": False}
        gathered["functions"]["f0"]["refs"][name] = given
    made = rebuild(gathered, {"scale"})
    found: dict[str, Any] = {}
    exec(made.write_definitions(), found)
    assert found["repro"](1) == (1 + 5) * 3 + 3 * 2 * 7 + 2 + 0
    assert not made.problems and "scale = 2" in made.write_definitions()


def test_keywords_of_an_entry_without_a_signature_are_handed_on() -> None:
    gathered = handmade("def f(x, secret_by):\n    return torch.relu(x) * secret_by")
    function = gathered["entry"]
    gathered["entry"] = {"kind": "partial", "function": function, "args": [], "kwargs": {}}
    gathered["kwargs"] = {"secret_by": {"kind": "const", "value": "3", "text": False}}
    made = rebuild(gathered, {"relu"})
    text = made.write_definitions()
    public = made.private.mapping["secret_by"]
    assert "def repro(x, x1):" in text and f"(x, {public}=x1)" in text
    assert made.write_inputs()[-1] == "return (x, 3)" and made.problems == ()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("functools.partial(torch.sum, dim=1)(x)", "partial(torch.sum, dim=1)(arg1)"),
        ("functools.partial(torch.sum, axes=1)(x)", "partial(torch.sum, axes=1)(arg1)"),
        ("functools.partial(functools.partial(torch.sum, x), axes=1)()", "axes=1)()"),
        ("functools.partial(g, dim=x)()", "partial(value1, arg2=arg1)()"),
        ("functools.partial(functools.partial(g), dim=x)()", "arg2=arg1)()"),
        ("functools.partial(dict, secret=1)()", "partial(dict, text1=1)()"),
        ("torch.sum(x, **dict(keepdim=True))", "**dict(keepdim=True)"),
        ("g(**dict(dim=x))", "(**dict(arg2=arg1))"),
        ("x * dict(secret=1)['secret']", "dict(text1=1)['text1']"),
        ("x * types.SimpleNamespace(secret=1).secret", "Namespace(attr1=1).attr1"),
    ],
)
def test_a_keyword_is_that_of_what_takes_it(call: str, expected: str) -> None:
    gathered = handmade(f"def f(x):\n    g = lambda dim: dim\n    return {call}")
    record = gathered["functions"]["f0"]
    for name in ("functools.partial", "types.SimpleNamespace"):
        record["refs"][name.split(".")[0]] = {"kind": "module", "name": name.split(".")[0]}
        record["chains"][name] = {"kind": "stdlib", "name": name}
    record["chains"]["torch.sum"] = {"kind": "torch", "name": "torch.sum"}
    text = rebuild(gathered, {"sum", "dim"}).write_definitions()
    assert expected in text and "secret" not in text, text


def test_a_function_that_takes_any_keywords_is_called_as_it_was() -> None:
    source = "def f(*parts, secret_by, **flags):\n    return torch.relu(parts[0]) * secret_by"
    gathered = handmade(source, 2)
    three = {"kind": "const", "value": "3", "text": False}
    gathered["kwargs"] = {"secret_by": three, "secret_flag": three}
    made = rebuild(gathered, {"relu"})
    text = made.write_definitions()
    assert "secret" not in text and "def repro(x, x1, x2, x3):" in text
    assert f"(x, x1, {made.private.mapping['secret_by']}=x2, " in text and text.rstrip().endswith(
        "=x3)"
    )


def test_a_name_in_double_underscores_stays_where_python_or_torch_defines_it() -> None:
    names = PublicNames(("__torch_only__",))
    for name in ("__call__", "__enter__", "__post_init__", "__torch_function__", "__torch_only__"):
        assert (
            names.name_attribute(name)
            == names.name_variable(name)
            == names.rewrite_text(name)
            == name
        )
    for name in ("__kestrel_tensor__", "__osterman_peek__"):
        assert "kestrel" not in names.name_attribute(name) + names.name_variable(
            name
        ) + names.rewrite_text(name)
        assert "osterman" not in names.name_attribute(name) + names.name_variable(
            name
        ) + names.rewrite_text(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("floor", "floor"),
        ("cpu", "cpu"),
        ("bhqd,bhkd->bhqk", "abcd,abed->abce"),
        ("call_function", "call_function"),
        ("__weakref__", "__weakref__"),
        ("-inf", "-inf"),
        ("Meridian", "text1"),
        ("", ""),
        ("/", "/"),
        ("--- Meridian", "text1"),
    ],
)
def test_only_listed_strings_are_kept(text: str, expected: str) -> None:
    assert PublicNames(()).rewrite_text(text) == expected


@pytest.mark.parametrize(
    ("equation", "expected"),
    [
        ("ba", "ab->ba"),
        ("ij,jk", "ab,bc->ac"),
        ("kj, ji", "ab,bc->ca"),
        ("...bA", "...ab->...ba"),
        ("ii", "aa->"),
        ("ba->ba", "ab->ab"),
    ],
)
def test_the_output_that_an_equation_implies_is_written(equation: str, expected: str) -> None:
    gathered = handmade(f"def f(x):\n    return torch.einsum('{equation}', x)")
    assert f"torch.einsum('{expected}', arg1)" in rebuild(gathered, {"einsum"}).write_definitions()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("scaled_dot_product", "scaled_dot_product"),
        ("attention", "attention"),
        ("aten.softmax", "aten.softmax"),
        ("scaled_dot_prod", "text1"),
        ("meridian.softmax", "text1"),
        ("dot product", "text1"),
    ],
)
def test_parts_of_the_names_of_operators_are_kept(text: str, expected: str) -> None:
    names = ("aten", "scaled_dot_product_attention", "log_softmax")
    assert PublicNames(names).rewrite_text(text) == expected
