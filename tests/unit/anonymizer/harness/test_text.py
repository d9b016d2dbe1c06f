"""The assertion around a program."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from anonymizer.graph import emitter
from anonymizer.graph.repro import FUNCTION_CALL, CallingConvention, ReproAssertion, ReproBody
from anonymizer.harness.text import render_harness
from tests.support.graphs import chain


@pytest.mark.parametrize(
    "kind",
    [
        "crash",
        "wrong_result",
        "wrong_gradient",
        "wrong_metadata",
        "accepts_invalid",
        "process_death",
        "hang",
        "stale_graph",
    ],
)
def test_every_kind_renders_to_a_valid_repro_without_what_the_safety_list_names(kind: str) -> None:
    backward = "sum" if kind == "wrong_gradient" else "none"
    assertion = ReproAssertion(
        kind, property="dtype", backward=backward, contexts=("torch.no_grad()",)
    )
    text = render_harness(emitter.emit(chain(3, 1)), assertion)
    compile(text, "repro", "exec")
    for word in (
        "eval(",
        "exec(",
        "subprocess",
        "socket",
        "open(",
        "pickle",
        "torch.load",
        "base64",
    ):
        assert word not in text
    assert "def inputs(" in text and "def main():" in text and '__name__ == "__main__"' in text


def test_complex_inputs_are_complex128_where_others_are_float64() -> None:
    given = "return (torch.full((), 500, dtype=torch.complex64), 2)"
    body = ReproBody("def repro(x, y):\n    return x.exp() * y", "repro", (given,), FUNCTION_CALL)
    assertion = ReproAssertion("wrong_result", compiler="eager", double=True)
    text = render_harness(body, assertion)
    compile(text, "repro", "exec")
    assert "x.cdouble() if torch.is_complex(x) else x.double() if isinstance(x, torch.Tens" in text
    real = replace(body, inputs=(given.replace("complex64", "float32"),))
    assert "cdouble" not in render_harness(real, assertion)


def test_arrays_are_compared_as_tensors_and_not_widened() -> None:
    inputs = ("x = torch.ones(3).numpy()", "return (x,)")
    body = ReproBody("def repro(x):\n    return {'total': x}", "repro", inputs)
    nested = replace(body, convention=CallingConvention(nested=True))
    text = render_harness(nested, ReproAssertion("wrong_result"))
    assert "x.double() if isinstance(x, torch.Tensor) and" in text
    assert 'type(out).__module__ == "numpy":' in text and "return tensors(leaves(out))" in text
    plain = replace(body, inputs=("return (torch.ones(3),)",))
    assert "numpy" not in render_harness(plain, ReproAssertion("wrong_result"))


def test_a_run_leaves_no_grad_mode_to_the_next_one() -> None:
    definitions = "def repro(x):\n    torch.set_grad_enabled(False)\n    return x.view(-1)"
    body = ReproBody(definitions, "repro", ("return (torch.ones(1),)",), FUNCTION_CALL)
    text = render_harness(body, ReproAssertion("wrong_metadata", property="is_leaf"))
    assert "torch.set_grad_enabled(True)\n    args = inputs()" in text


def test_classes_of_tensors_are_compared_by_their_names() -> None:
    definitions = "def repro(x):\n    return torch.sin(x)"
    body = ReproBody(definitions, "repro", ("return (torch.ones(1),)",), FUNCTION_CALL)
    text = render_harness(body, ReproAssertion("wrong_metadata", property="type"))
    compile(text, "repro", "exec")
    assert "return type(out).__name__" in text and "isinstance(out, torch.Tensor)" not in text
    numbers = render_harness(body, ReproAssertion("wrong_metadata", property="python value"))
    assert "return None if isinstance(out, torch.Tensor) else out" in numbers


def seeds_in(text: str) -> list[int]:
    return [int(seed) for seed in re.findall(r"torch\.manual_seed\((\d+)\)", text)]


SEEDED = ("torch.manual_seed(0)", "x = torch.randn(2)", "return (x,)")
HARNESSES: list[tuple[dict[str, Any], dict[str, Any], list[int]]] = [
    ({}, {}, [7, 7]),
    ({}, {"kind": "wrong_gradient", "backward": "sum"}, [7, 7]),
    ({}, {"kind": "wrong_gradient", "backward": "randn"}, [7, 7, 8]),  # the tangents are others
    ({}, {"kind": "wrong_gradient", "backward": "gradcheck", "compiler": "eager"}, [7, 7, 7, 8]),
    ({}, {"kind": "wrong_gradient", "backward": "elementwise", "compiler": "eager"}, [7, 7, 7]),
    ({}, {"kind": "wrong_gradient", "backward": "forward_twice", "compiler": "eager"}, [7, 7, 7]),
    ({}, {"kind": "wrong_gradient", "backward": "in_inference", "compiler": "eager"}, [7, 7, 7]),
    ({}, {"kind": "wrong_gradient", "backward": "tangents"}, [7, 7]),
    ({"state_calls": 1}, {"kind": "wrong_metadata", "property": "side effect"}, [7, 7]),
    ({"is_script": True}, {"backward": "randn"}, [7, 7, 8]),
]


@pytest.mark.parametrize(("more", "checked", "seeds"), HARNESSES)
def test_a_harness_starts_from_the_seed_of_its_assertion(
    more: dict[str, Any], checked: dict[str, Any], seeds: list[int]
) -> None:
    definitions = "def repro(x):\n    return x + 1"
    body = ReproBody(definitions, "repro", SEEDED, CallingConvention(**more))
    assertion = ReproAssertion(**{"kind": "wrong_result", **checked})
    text = render_harness(body, replace(assertion, seed=7))
    compile(text, "repro", "exec")
    assert seeds_in(text) == seeds
    # so no answer in a journal is that of another seed
    assert seeds_in(render_harness(body, assertion)) == [seed - 7 for seed in seeds]


def test_only_what_holds_two_sides_against_each_other_compares_them() -> None:
    assert ReproAssertion("wrong_metadata").compares_sides()
    assert ReproAssertion("wrong_result").compares_sides()
    assert not ReproAssertion("crash").compares_sides()
    assert not ReproAssertion("wrong_result", compiler="eager").compares_sides()


@pytest.mark.parametrize(
    ("body", "returned"),
    [
        ("    x.add_(1)", "return args"),
        ("    x.add_(1)\n    return None", "return args"),
        ("    def inner():\n        return 1\n\n    x.add_(inner())", "return args"),
        (
            "    return x.add_(1)",
            "return [*(out if isinstance(out, (tuple, list)) else [out]), *ar",
        ),
        ("    yield x.add_(1)", "return [*(out if isinstance(out, (tuple, list)) else [out]), *ar"),
    ],
)
def test_of_a_program_that_returns_nothing_its_arguments_are_compared(
    body: str, returned: str
) -> None:
    program = ReproBody(
        f"def repro(x):\n{body}", "repro", ("return (torch.ones(2),)",), FUNCTION_CALL
    )
    assertion = ReproAssertion("wrong_result", compare_inputs=True, double=True)
    assert f"    {returned}" in render_harness(program, assertion)
    methods = f"    def forward(self, x):\n{body}".replace("\n    ", "\n        ")
    module = replace(
        program,
        definitions=f"class Repro(torch.nn.Module):\n{methods}",
        callable="Repro()",
        convention=replace(FUNCTION_CALL, is_module=True),
    )
    assert f"    {returned}" in render_harness(module, assertion)


@pytest.mark.parametrize("double", [True, False])
def test_values_below_the_absolute_tolerance_are_compared_by_their_size(double: bool) -> None:
    body = emitter.emit(chain(1, 1))
    text = render_harness(body, ReproAssertion("wrong_result", double=double, by_size=True))
    compile(text, "repro", "exec")
    assert ("u, v, w = e / scale, a / scale, x / scale" in text) is double
    assert ("same(u, v, fp64_ref=w, equal_nan=True)" in text) is double
    assert ("        u, v = e / scale, a / scale\n" in text) is not double
    assert "scale" not in render_harness(body, ReproAssertion("wrong_result", double=double))


@pytest.mark.parametrize("double", [True, False])
@pytest.mark.parametrize(
    ("program", "given", "is_complex"),
    [
        ("x.exp()", "torch.randn(3, dtype=torch.complex64)", True),
        ("torch.fft.fft(x)", "torch.randn(3)", True),
        ("x * 2j", "torch.randn(3)", True),
        ("x.exp()", "torch.randn(3)", False),
    ],
)
def test_errors_of_complex_numbers_are_those_of_both_parts(
    program: str, given: str, is_complex: bool, double: bool
) -> None:
    """`double()` drops the imaginary part, in which alone a gradient may be wrong."""
    body = ReproBody(f"def repro(x):\n    return {program}", "repro", (f"return ({given},)",))
    text = render_harness(body, ReproAssertion("wrong_gradient", backward="sum", double=double))
    compile(text, "repro", "exec")
    compared = text[text.index("def main") :]
    assert compared.count("cdouble()") == (2 if is_complex else 0)
    assert compared.count(").abs()") == (is_complex or not double)


def test_an_output_without_elements_has_no_error_to_be_computed() -> None:
    """`max()` raises for it."""
    assertion = ReproAssertion("wrong_result", double=False)
    text = render_harness(emitter.emit(chain(3, 1)), assertion)
    same, error = text.index("assert same("), text.index(".max()")
    assert same < error < text.index("against eager")


def test_strides_of_dimensions_of_one_element_say_nothing() -> None:
    text = render_harness(
        emitter.emit(chain(3, 1)), ReproAssertion("wrong_metadata", property="stride")
    )
    assert "assert e.squeeze().stride() == a.squeeze().stride(), (" in text
    assert "stride is {e.stride()} in eager, {a.stride()} compiled" in text
    assert "if isinstance(e, torch.Tensor) and e.numel():" in text


@pytest.mark.parametrize("name", ["type", "python value", "structure"])
def test_what_is_no_tensor_is_compared_where_the_program_returns_it(name: str) -> None:
    convention = CallingConvention(nested=True)
    definitions = "def repro(x):\n    return {'total': x, 'seen': 1}"
    body = ReproBody(definitions, "repro", ("return (torch.ones(1),)",), convention)
    text = render_harness(body, ReproAssertion("wrong_metadata", property=name))
    compile(text, "repro", "exec")
    assert "leaves(" not in text
    assert "return {key: " in text
    of_tensors = render_harness(body, ReproAssertion("wrong_metadata", property="dtype"))
    assert "return leaves(out)" in of_tensors
