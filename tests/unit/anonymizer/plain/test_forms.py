"""The plain forms: what stands in the file for each kind of failure."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

import pytest

from anonymizer.graph.compilation import add_reloading
from anonymizer.graph.repro import (
    FUNCTION_CALL,
    MODULE_CALL,
    CallingConvention,
    ReproAssertion,
    ReproBody,
)
from anonymizer.harness.text import render_harness
from anonymizer.kinds import Kind
from anonymizer.plain.script.forms import PlainForm, list_plain_forms
from anonymizer.plain.text import render_plain

ONE = ReproBody(
    "def repro(x):\n    return torch.cumsum(x, 0)",
    "repro",
    ("return (torch.ones(4),)",),
    FUNCTION_CALL,
)
GRADIENT = ReproBody(
    "def repro(x, y):\n    return x * y",
    "repro",
    ("return (torch.ones(2).requires_grad_(), torch.ones(2))",),
    FUNCTION_CALL,
)
MODULE = ReproBody(
    "class Repro(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.linear1 = nn.Linear(3, 4)\n\n    def forward(self, x):\n"
    "        return self.linear1(x)",
    "Repro()",
    ("return (torch.randn(2, 3),)",),
    MODULE_CALL,
)
SIZES = ReproBody(
    "def repro(x):\n    return x + 1",
    "repro",
    ("return (torch.ones(n),)",),
    FUNCTION_CALL,
    (("n", 3),),
)


PLAIN = PlainForm.PLAINEST


def end(body: ReproBody, assertion: ReproAssertion, form: PlainForm = PLAIN) -> list[str]:
    """The lines after the definitions."""
    text = render_plain(body, assertion, form)
    definitions = [
        node.end_lineno or 0
        for node in ast.parse(text).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom))
    ]
    return [line for line in text.splitlines()[max(definitions) :] if line.strip()]


@pytest.mark.parametrize(
    ("kind", "settings", "lines"),
    [
        ("crash", {}, ["torch.compile(fn)(torch.ones(4))"]),
        (
            "hang",
            {"arguments": (("dynamic", "True"),)},
            ["torch.compile(fn, dynamic=True)(torch.ones(4))"],
        ),
        ("crash", {"backward": "sum"}, ["torch.compile(fn)(torch.ones(4)).sum().backward()"]),
        (
            "crash",
            {"contexts": ("torch.no_grad()",)},
            ["with torch.no_grad():", "    torch.compile(fn)(torch.ones(4))"],
        ),
        (
            "wrong_result",
            {},
            ["x = torch.ones(4)", "torch.testing.assert_close(torch.compile(fn)(x), fn(x))"],
        ),
        (
            "wrong_metadata",
            {"property": "stride"},
            [
                "x = torch.ones(4)",
                "torch.testing.assert_close(torch.compile(fn)(x), fn(x), check_stride=True)",
            ],
        ),
        (
            "wrong_metadata",
            {"property": "requires_grad"},
            [
                "x = torch.ones(4)",
                "expected = fn(x).requires_grad",
                "actual = torch.compile(fn)(x).requires_grad",
                "assert actual == expected, (actual, expected)",
            ],
        ),
        (
            "accepts_invalid",
            {},
            [
                "with unittest.TestCase().assertRaises(Exception):",
                "    torch.compile(fn)(torch.ones(4))",
            ],
        ),
        (
            "process_death",
            {"eager_raises": True},
            [
                "try:",
                "    torch.compile(fn)(torch.ones(4))",
                "except Exception:",
                "    pass",
            ],
        ),
    ],
)  # fmt: skip
def test_the_plainest_form_of_a_kind(
    kind: str, settings: dict[str, object], lines: list[str]
) -> None:
    assert end(ONE, ReproAssertion(kind, **settings)) == lines  # type: ignore[arg-type]


def test_gradients_are_those_of_backward_in_line() -> None:
    assert end(GRADIENT, ReproAssertion("wrong_gradient", backward="sum")) == [
        "x = torch.ones(2, requires_grad=True)",
        "y = torch.ones(2)",
        "fn(x, y).sum().backward()",
        "expected, x.grad = x.grad, None",
        "torch.compile(fn)(x, y).sum().backward()",
        "torch.testing.assert_close(x.grad, expected)",
    ]


def test_an_input_that_another_one_lies_in_has_a_name() -> None:
    body = ReproBody(
        "def repro(x, y):\n    x.add_(1)\n    return y.view(-1)",
        "repro",
        ("x = torch.ones(3, 3)", "y = x[2:]", "return (x, y)"),
        FUNCTION_CALL,
    )
    assert end(body, ReproAssertion("crash")) == [
        "x = torch.ones(3, 3)",
        "torch.compile(fn)(x, x[2:])",
    ]


def test_an_input_has_the_name_of_the_argument_that_it_is() -> None:
    """Source that was made smaller has inputs `x2` and `x4`, and arguments `x` and `y`."""
    inputs = ("x2 = torch.ones(2)", "x4 = x2.t()", "return (x2, x4)")
    body = ReproBody("def repro(x, y):\n    return x + y", "repro", inputs, FUNCTION_CALL)
    text = render_plain(body, ReproAssertion("wrong_result"), PlainForm.PLAINEST)
    assert "x = torch.ones(2)\ny = x.t()\n" in text


def test_what_one_argument_holds_is_written_inside_of_it_unless_it_is_random() -> None:
    definitions = "def repro(x, y):\n    y.appendleft(x)\n    return x"
    given = "return (torch.ones(1), collections.deque([x1, x2], maxlen=2))"
    inputs = ("x1 = torch.ones(1)", "x2 = torch.randn(1)", given)
    text = render_plain(
        ReproBody(definitions, "repro", inputs, FUNCTION_CALL),
        ReproAssertion("crash"),
        PlainForm.PLAINEST,
    )
    assert "x2 = torch.randn(1)" in text and "x1" not in text
    assert "collections.deque([torch.ones(1), x2], maxlen=2)" in text


def test_gradients_are_asked_for_outside_of_the_contexts_of_the_call() -> None:
    assertion = ReproAssertion(
        "wrong_gradient", backward="sum", contexts=("torch.autocast('cpu')",)
    )
    first = next(list_plain_forms(assertion, draws=False))
    assert end(GRADIENT, assertion, first)[2:] == [
        "with torch.autocast('cpu'):",
        "    outs = fn(x, y), torch.compile(fn)(x, y)",
        "expected, actual = (torch.autograd.grad(out.sum(), x) for out in outs)",
        "torch.testing.assert_close(actual, expected)",
    ]
    crash = ReproAssertion("crash", backward="sum", contexts=("torch.autocast('cpu')",))
    assert end(ONE, crash, next(list_plain_forms(crash, draws=False))) == [
        "with torch.autocast('cpu'):",
        "    out = torch.compile(fn)(torch.ones(4))",
        "out.sum().backward()",
    ]


def test_a_module_that_is_one_layer_is_that_layer() -> None:
    lines = end(MODULE, ReproAssertion("wrong_result", evaluation=True))
    assert lines[:3] == [
        "torch.manual_seed(0)",
        "model = nn.Linear(3, 4).eval()",
        "x = torch.randn(2, 3)",
    ]
    assert "class" not in render_plain(MODULE, ReproAssertion("crash"), PLAIN)
    crash = ReproAssertion("crash")
    (seed,) = set(end(MODULE, crash)) - set(end(MODULE, crash, PlainForm.UNSEEDED))
    assert seed == "torch.manual_seed(0)"


def test_a_module_without_state_is_a_function() -> None:
    body = ReproBody(
        "class Repro(nn.Module):\n\n    def forward(self, arg1):\n"
        "        return torch.Tensor(arg1.size())",
        "Repro()",
        ("x = torch.ones(2, 2)", "return (x,)"),
        MODULE_CALL,
    )
    assertion = ReproAssertion("wrong_metadata", property="shape")
    text = render_plain(body, assertion, PlainForm.ALONE)
    assert text.splitlines()[2:] == [
        "def fn(x):",
        "    return torch.Tensor(x.size())",
        "",
        "x = torch.ones(2, 2)",
        "expected = fn(x).shape",
        "actual = torch.compile(fn)(x).shape",
        "assert actual == expected, (actual, expected)",
    ]


def test_several_calls_are_a_loop_over_sizes() -> None:
    calls = ((("n", 3),), (("n", 5),))
    assert end(SIZES, ReproAssertion("stale_graph", calls=calls)) == [
        "compiled = torch.compile(fn)",
        "for n in (3, 5):",
        "    x = torch.ones(n)",
        "    torch.testing.assert_close(compiled(x), fn(x))",
    ]
    (crash,) = end(SIZES, ReproAssertion("crash_on_recompile", calls=calls))[2:]
    assert crash == "    compiled(torch.ones(n))"
    assert end(SIZES, ReproAssertion("crash")) == ["torch.compile(fn)(torch.ones(3))"]


def test_settings_come_before_the_program() -> None:
    assertion = ReproAssertion(
        "crash",
        config=(("torch._inductor.config.fallback_random", "True"),),
        prelude="import math\n\ntorch.set_default_dtype(torch.float64)",
    )
    text = render_plain(ONE, assertion, PLAIN)
    order = [
        "import torch._inductor.config",
        "fallback_random = True",
        "set_default_dtype",
        "def fn",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places) and "import math" not in text


@pytest.mark.parametrize(
    ("kind", "backward"),
    [("wrong_result", "none"), ("wrong_gradient", "sum"), ("wrong_gradient", "randn")],
)
def test_every_form_of_a_program_is_python(kind: str, backward: str) -> None:
    assertion = ReproAssertion(kind, backward=backward, compare_inputs=True)
    forms = list(list_plain_forms(assertion, draws=False))
    assert len(forms) == len(set(forms))
    for form in forms:
        text = render_plain(GRADIENT, assertion, form)
        ast.parse(text)
        assert not re.search(r"\b(main|inputs|run)\(", text) and "sys.exit" not in text


def test_a_name_of_the_program_is_not_taken() -> None:
    body = ReproBody(
        "def fn(x):\n    return x\n\n\ndef repro(out):\n    return fn(out)",
        "repro",
        ("return (torch.ones(1),)",),
        FUNCTION_CALL,
    )
    assert end(body, ReproAssertion("wrong_result")) == [
        "out_ = torch.ones(1)",
        "torch.testing.assert_close(torch.compile(repro)(out_), repro(out_))",
    ]


def test_inputs_that_cannot_be_told_have_no_plain_form() -> None:
    body = ReproBody("def repro(*x):\n    return x", "repro", ("return make()",), FUNCTION_CALL)
    with pytest.raises(ValueError, match="one tuple"):
        render_plain(body, ReproAssertion("crash"), PLAIN)


@pytest.mark.parametrize(
    ("made", "written"),
    [
        ("torch.full((2, 3), 1, dtype=torch.int8)", "torch.ones(2, 3, dtype=torch.int8)"),
        ("torch.full((4,), 0.0)", "torch.zeros(4)"),
        ("torch.full((4,), 1)", "torch.full((4,), 1)"),
        ("torch.full((), 1.0)", "torch.ones(())"),
        ("torch.full((1,), -1, dtype=torch.int64)", "torch.tensor([-1])"),
        ("torch.full((1,), 2.5)", "torch.tensor([2.5])"),
        ("torch.full((1,), 2, dtype=torch.int8)", "torch.tensor([2], dtype=torch.int8)"),
        ("torch.full((2,), 3)", "torch.full((2,), 3)"),
    ],
)
def test_a_tensor_of_one_value_is_written_by_hand(made: str, written: str) -> None:
    body = ReproBody(
        "def repro(x):\n    return x + x", "repro", (f"return ({made},)",), FUNCTION_CALL
    )
    assert f"x = {written}" in end(body, ReproAssertion("wrong_result"))


# -- other doors than torch.compile ----------------------------------------------------------------

REDUCED = ReproBody(
    'def repro(x, y, z):\n    return x.index_reduce(0, y, z, "mean")',
    "repro",
    (
        "return (torch.ones(1, dtype=torch.bfloat16),"
        " torch.full((512,), 0, dtype=torch.int32), torch.ones(512))",
    ),
    FUNCTION_CALL,
)


def test_an_operator_that_fails_in_eager_mode_is_called_in_line() -> None:
    (call,) = end(ONE, ReproAssertion("crash", compiler="eager"))
    assert call == "torch.cumsum(torch.ones(4), 0)"


def test_a_program_is_saved_and_loaded_where_that_is_what_fails() -> None:
    assertion = ReproAssertion("crash", compiler="export", steps=("decompose", "save", "unflatten"))
    exported = "torch.export.export(model, (x,)).run_decompositions()"
    assert end(MODULE, assertion, PlainForm.EXPORTED)[-1] == f"torch.export.unflatten({exported})"
    reloaded = add_reloading(assertion)
    text = render_plain(MODULE, reloaded, PlainForm.EXPORTED)
    assert text.splitlines()[-1] == f"torch.export.unflatten(reload({exported}))"
    assert "import io" in text and "    return torch.export.load(file)\n" in text
    # where saving it fails, nothing is loaded
    assert next(iter(list_plain_forms(reloaded, draws=False))) == PlainForm.SAVED
    text = render_plain(MODULE, reloaded, PlainForm.SAVED)
    assert text.splitlines()[-1] == f"torch.export.save({exported}, io.BytesIO())"
    assert text.startswith("import io\n") and "load" not in text
    assert PlainForm.SAVED not in list_plain_forms(assertion, draws=False)


def test_an_operator_whose_backward_pass_fails_is_differentiated() -> None:
    (call,) = end(ONE, ReproAssertion("crash", compiler="eager", backward="sum"))
    assert call == "fn(torch.ones(4)).sum().backward()"


@pytest.mark.parametrize(
    ("compiler", "steps", "is_shared"),
    [
        ("inductor", (), True),
        ("export", ("decompose",), True),
        ("export", ("decompose", "save"), False),
        ("export", ("reload",), False),
        ("export", ("unflatten",), False),
        ("aoti", ("package",), False),
    ],
)
def test_only_an_exported_program_itself_has_the_modules_parameters(
    compiler: str, steps: tuple[str, ...], is_shared: bool
) -> None:
    assertion = ReproAssertion("wrong_gradient", compiler=compiler, steps=steps, backward="sum")
    assert assertion.shares_parameters() == is_shared


def test_wrong_values_of_an_operator_stand_beside_those_of_float64() -> None:
    lines = end(REDUCED, ReproAssertion("wrong_result", compiler="eager"))
    assert lines[-3:] == [
        "actual = x.index_reduce(0, y, z, 'mean')",
        "expected = x.double().index_reduce(0, y, z.double(), 'mean').to(actual.dtype)",
        "torch.testing.assert_close(actual, expected)",
    ]


def test_wrong_complex_values_stand_beside_those_of_complex128() -> None:
    given = "return (torch.full((), 500, dtype=torch.complex64),)"
    body = ReproBody("def repro(x):\n    return torch.exp(x)", "repro", (given,), FUNCTION_CALL)
    lines = end(body, ReproAssertion("wrong_result", compiler="eager"))
    assert lines[-2] == "expected = torch.exp(x.cdouble()).to(actual.dtype)"


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("gradcheck", "torch.autograd.gradcheck(fn, (torch.ones(4),))"),
        ("gradgradcheck", "torch.autograd.gradgradcheck(fn, (torch.ones(4),))"),
        (
            "over_forward",
            "torch.autograd.gradcheck("
            "lambda *xs: torch.func.jvp(fn, xs, tuple(each.sin() for each in xs))[1], (x,))",
        ),
        (
            "over_backward",
            "torch.autograd.gradcheck("
            "torch.func.grad(lambda *xs: fn(*xs).square().sum()), (x,), check_forward_ad=True)",
        ),
        (
            "forward_twice",
            "torch.testing.assert_close(*(outer(torch.func.jacfwd(lambda xs: fn(*xs)))((x,))"
            " for outer in (torch.func.jacfwd, torch.func.jacrev)))",
        ),
        (
            "in_inference",
            "torch.testing.assert_close(*(torch.inference_mode(mode)(torch.func.jvp)"
            "(fn, (x,), (x,))[1] for mode in (True, False)))",
        ),
        (
            "elementwise",
            "torch.testing.assert_close(*torch.autograd.grad(fn(x).sum(), (x,))[0].aminmax())",
        ),
    ],
)
def test_a_derivative_in_eager_mode_is_handed_to_gradcheck(kind: str, call: str) -> None:
    assertion = ReproAssertion("wrong_gradient", compiler="eager", backward=kind)
    assert list(list_plain_forms(assertion, draws=False)) == [PLAIN]
    assert end(ONE, assertion)[-1] == call


def test_tangents_of_both_sides_stand_beside_each_other() -> None:
    assertion = ReproAssertion("wrong_gradient", backward="tangents")
    assert list(list_plain_forms(assertion, draws=False)) == [PLAIN]
    assert end(ONE, assertion)[-4:] == [
        "with torch.autograd.forward_ad.dual_level():",
        "    x = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))",
        "    outs = [torch.autograd.forward_ad.unpack_dual(call(x))"
        " for call in (torch.compile(fn), fn)]",
        "    torch.testing.assert_close(*outs)",
    ]


def test_a_crash_on_dual_tensors_is_the_compiled_call_alone() -> None:
    assertion = ReproAssertion("crash", backward="tangents")
    assert list(list_plain_forms(assertion, draws=False)) == [PLAIN]
    assert end(ONE, assertion)[-3:] == [
        "with torch.autograd.forward_ad.dual_level():",
        "    x = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))",
        "    torch.compile(fn)(x)",
    ]


@pytest.mark.parametrize(
    ("made", "wide"),
    [
        ("torch.arange(4)", "y"),
        ("torch.tensor([[3, 1], [-2, 0]])", "y"),
        ("torch.full((2,), 7)", "y"),
        ("torch.arange(4.0)", "y.double()"),
        ("torch.arange(4) / 4", "y.double()"),
        ("torch.full((2,), 7.0)", "y.double()"),
        ("torch.tensor([3, 1], dtype=torch.float16)", "y.double()"),
        ("torch.complex(torch.ones(2), torch.ones(2))", "y.cdouble()"),
        ("torch.randn(2, dtype=torch.complex64)", "y.cdouble()"),
    ],
)
def test_both_sides_stand_beside_what_double_precision_gives(made: str, wide: str) -> None:
    body = replace(GRADIENT, inputs=(f"return (torch.ones(2), {made})",))
    lines = end(body, ReproAssertion("wrong_result"), PlainForm.EXACT)
    assert f"exact = fn(x.double(), {wide})" in lines


def test_a_module_has_no_plain_form_beside_float64() -> None:
    with pytest.raises(ValueError, match="without weights"):
        render_plain(MODULE, ReproAssertion("wrong_result", compiler="eager"), PLAIN)


def test_a_program_that_torch_export_refuses_is_exported_and_not_called() -> None:
    assertion = ReproAssertion("crash", compiler="export", arguments=(("strict", "True"),))
    forms = list(list_plain_forms(assertion, draws=False))
    assert PlainForm.EXPORTED in forms[0] and not any(
        PlainForm.EXPORTED in form for form in forms[1:]
    )
    first, second = (end(MODULE, assertion, form)[-1] for form in forms[:2])
    assert first == "torch.export.export(model, (torch.randn(2, 3),), strict=True)"
    assert second == "torch.export.export(model, (x,), strict=True).module()(x)"


@pytest.mark.parametrize(
    ("compiler", "steps", "made"),
    [
        (
            "export",
            ("decompose",),
            "torch.export.export(model, (x,)).run_decompositions().module()",
        ),
        ("export", ("draft",), "torch.export.draft_export(model, (x,)).module()"),
        ("export", ("unflatten",), "torch.export.unflatten(torch.export.export(model, (x,)))"),
        (
            "aoti",
            (),
            "torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package("
            "torch.export.export(model, (x,))))",
        ),
    ],
)  # fmt: skip
def test_the_steps_of_an_exported_program_are_one_expression(
    compiler: str, steps: tuple[str, ...], made: str
) -> None:
    assertion = ReproAssertion("wrong_result", compiler=compiler, steps=steps)
    assert end(MODULE, assertion)[-1] == f"torch.testing.assert_close({made}(x), model(x))"


def test_a_model_of_onnx_returns_a_tuple() -> None:
    assertion = ReproAssertion("wrong_result", compiler="onnx", steps=("onnx",))
    first = next(list_plain_forms(assertion, draws=False))
    made = "torch.onnx.export(model, (x,), dynamo=True)(x)[0]"
    assert end(MODULE, assertion, first)[-1] == f"torch.testing.assert_close({made}, model(x))"


def test_parameters_without_a_gradient_are_allowed_where_nothing_plainer_shows_it() -> None:
    assertion = ReproAssertion("wrong_gradient", contexts=("torch.no_grad()",), backward="sum")
    strict, lenient = (
        end(MODULE, assertion, form) for form in list(list_plain_forms(assertion, draws=False))[:2]
    )
    assert not any("allow_unused" in line for line in strict)
    assert any("allow_unused=True)" in line for line in lenient)


def test_the_gradients_of_an_exported_program_are_those_of_its_arguments() -> None:
    assertion = ReproAssertion("wrong_gradient", compiler="export", backward="sum")
    body = replace(MODULE, inputs=("return (torch.randn(2, 3, requires_grad=True),)",))
    lines = end(body, assertion)
    assert "torch.export.export(model, (x,)).module()(x).sum().backward()" in lines
    assert not any("parameters()" in line for line in lines)
    assert "for x in args if x.requires_grad" in " ".join(render_harness(body, assertion).split())


def test_an_exported_program_whose_arguments_take_no_gradient_has_its_parameters() -> None:
    assertion = ReproAssertion("wrong_gradient", compiler="export", backward="sum")
    lines = end(replace(MODULE, inputs=("return (torch.randn(2, 3),)",)), assertion)
    assert "leaves = list(model.parameters())" in lines
    with pytest.raises(ValueError, match="no gradient"):
        end(MODULE, replace(assertion, steps=("save",)))


def test_a_program_that_keeps_state_is_made_once_for_each_side_of_a_loop() -> None:
    made = "def program():\n    def repro(x):\n        return x\n    return repro"
    body = ReproBody(made, "program()", ("return (torch.ones(2),)",), FUNCTION_CALL)
    assertion = ReproAssertion("stale_graph", calls=((), ()))
    text = render_plain(body, assertion, PLAIN)
    assert text.rstrip().endswith(
        "eager = program()\n"
        "compiled = torch.compile(program())\n"
        "for _ in range(2):\n"
        "    x = torch.ones(2)\n"
        "    torch.testing.assert_close(compiled(x), eager(x))"
    )


@pytest.mark.parametrize(("before", "shown"), [("", 1), ("state1 = 0\n\n", 0)])
def test_a_global_that_the_eager_run_of_the_harness_would_have_made_is_there(
    before: str, shown: int
) -> None:
    """Without it the compiled call of a plain text, which is the first, failed in another way."""
    made = f"{before}def repro(x):\n    global state1\n    state1 = x\n    return helper1()"
    text = render_plain(replace(ONE, definitions=made), ReproAssertion("crash"), PLAIN)
    assert text.count("state1 = None\n") == shown


TWO = replace(GRADIENT, inputs=("return (torch.ones(2), torch.zeros(2))",))
VIEW = replace(GRADIENT, inputs=("x = torch.ones(2)", "return (x, x[:1])"))


@pytest.mark.parametrize(
    ("body", "form", "line"),
    [
        (TWO, PlainForm.APART, "expected = fn(x.clone(), y.clone())"),
        (TWO, PlainForm.MUTATED, "expected, actual = (x.clone(), y.clone()), (x, y)"),
        (VIEW, PlainForm.MUTATED, "expected, actual = copy.deepcopy((x, y)), (x, y)"),
    ],
)
def test_inputs_are_copied_together_only_where_they_share_memory(
    body: ReproBody, form: PlainForm, line: str
) -> None:
    assert line in end(body, ReproAssertion("wrong_result"), form)


@pytest.mark.parametrize(
    ("made", "copied"),
    [
        ("torch.rand(11).as_strided((6,), (2,))", "copy.deepcopy(x)"),
        ("torch.rand(3, 1).expand(3, 2)", "copy.deepcopy(x)"),
        ("torch.rand(3, 2).t()", "x.clone()"),
    ],
)
def test_an_input_is_copied_with_its_strides(made: str, copied: str) -> None:
    """A clone of a tensor with gaps has none, so that no plain form showed what hangs on them."""
    body = replace(ONE, inputs=(f"return ({made},)",))
    assertion = ReproAssertion("wrong_result", compare_inputs=True)
    assert f"expected = fn({copied})" in end(body, assertion, PlainForm.APART)
    mutated = end(body, assertion, PlainForm.MUTATED)
    assert f"expected, actual = {copied}, {copied}" in mutated
    both = replace(TWO, inputs=(f"return ({made}, torch.zeros(2))",))
    listed = "(x.clone(), y.clone())" if "clone" in copied else "copy.deepcopy((x, y))"
    assert f"expected, actual = {listed}, (x, y)" in end(both, assertion, PlainForm.MUTATED)


@pytest.mark.parametrize("kind", ["wrong_result", "wrong_gradient"])
def test_values_of_a_program_that_draws_are_compared_where_both_sides_draw_the_same(
    kind: str,
) -> None:
    backward = "sum" if kind == "wrong_gradient" else "none"
    assertion = ReproAssertion(kind, backward=backward)
    forms = list(list_plain_forms(assertion, draws=True))
    assert forms and all(PlainForm.RESEED in form for form in forms)
    assert not any(PlainForm.RESEED in form for form in list_plain_forms(assertion, draws=False))


RANDOM = ReproBody(
    "def repro(x):\n    return F.dropout(x)",
    "repro",
    ("return (torch.randn(2).requires_grad_(),)",),
    FUNCTION_CALL,
)
SEEDED = replace(
    RANDOM,
    definitions="def repro(x):\n    return x + 1",
    inputs=("torch.manual_seed(0)", "x = torch.randn(2)", "return (x,)"),
)
EFFECT = ReproBody(
    "def program():\n    state = []\n\n    def repro(x):\n        state.append(torch.rand(2))\n\n"
    "    return (repro, lambda: len(state))",
    "program()",
    ("torch.manual_seed(0)", "x = torch.ones(2)", "return (x,)"),
    CallingConvention(state_calls=1),
)
SEEDS = [
    (MODULE, "none", PlainForm.PLAINEST, [7]),
    (MODULE, "none", PlainForm.UNSEEDED, []),
    (RANDOM, "none", PlainForm.PLAINEST, [7]),
    (SEEDED, "none", PlainForm.PLAINEST, [7]),
    (RANDOM, "none", PlainForm.RESEED, [7, 7, 7]),
    (RANDOM, "none", PlainForm.RESEED | PlainForm.SEED_1, [7, 8, 8]),
    (RANDOM, "sum", PlainForm.RESEED | PlainForm.SEED_2, [7, 9, 9]),
    (RANDOM, "sum", PlainForm.IN_TURN | PlainForm.RESEED, [7, 7]),
    (RANDOM, "randn", PlainForm.IN_TURN, [7, 8]),  # the tangents are others
    (RANDOM, "randn", PlainForm.IN_TURN | PlainForm.SEVERAL, [7, 8]),
    (EFFECT, "none", PlainForm.PLAINEST, [7]),
]


@pytest.mark.parametrize(("body", "backward", "form", "seeds"), SEEDS)
def test_a_plain_form_starts_from_the_seed_of_its_assertion(
    body: ReproBody, backward: str, form: PlainForm, seeds: list[int]
) -> None:
    kind = "wrong_metadata" if body.convention.state_calls else "wrong_result"
    text = render_plain(body, ReproAssertion(kind, backward=backward, seed=7), form)
    found = re.findall(r"torch\.manual_seed\((\d+)\)", text)
    assert [int(seed) for seed in found] == seeds


@pytest.mark.parametrize("made", ["Repro()", "Repro().eval()"])
def test_a_module_without_state_is_a_function_beside_others(made: str) -> None:
    body = ReproBody(
        "def helper1(x):\n    return x.sum()\n\n\nclass Repro(nn.Module):\n"
        "    def forward(self, x):\n        return torch.func.grad(helper1)(x)",
        made,
        ("return (torch.ones(2),)",),
        MODULE_CALL,
    )
    text = render_plain(body, ReproAssertion("wrong_result"), PLAIN)
    assert "class" not in text and "torch.compile(fn)(x), fn(x)" in text
    reading = replace(
        body, definitions=body.definitions.replace("grad(helper1)(x)", "grad(self)(x)")
    )
    assert "class Model" in render_plain(reading, ReproAssertion("wrong_result"), PLAIN)


def test_a_module_whose_forward_takes_any_number_of_arguments_stays_one() -> None:
    definitions = "class Repro(nn.Module):\n    def forward(*args):\n        return args[1] + 1"
    body = replace(MODULE, definitions=definitions)
    assert "class Model" in render_plain(body, ReproAssertion("wrong_result"), PLAIN)


@pytest.mark.parametrize(
    ("returned", "asked"),
    [
        ("(x * w).sum()", "fn(x, w).backward()"),
        ("torch.mean(x * w)", "fn(x, w).backward()"),
        ("(x * w).sum(0)", "fn(x, w).sum().backward()"),
        ("torch.mean(x * w, 0)", "fn(x, w).sum().backward()"),
        ("x * w", "fn(x, w).sum().backward()"),
    ],
)
def test_what_is_one_number_is_not_summed_again(returned: str, asked: str) -> None:
    inputs = ("return (torch.ones(2), torch.ones(2).requires_grad_())",)
    body = ReproBody(f"def repro(x, w):\n    return {returned}", "repro", inputs, FUNCTION_CALL)
    text = render_plain(body, ReproAssertion("wrong_gradient", backward="sum"), PLAIN)
    assert text.count(asked) == 1 and asked.replace("fn(", "torch.compile(fn)(") in text


def test_it_is_the_models_own_forward_that_returns_one_number() -> None:
    """A module that stands before it may return one."""
    body = ReproBody(
        "class Block1(nn.Module):\n    def forward(self, x):\n        return x.sum()\n\n\n"
        "class Repro(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.attr1 = nn.Linear(2, 2)\n        self.attr2 = Block1()\n\n"
        "    def forward(self, x):\n        return self.attr1(x) + self.attr2(x)",
        "Repro()",
        ("return (torch.ones(2, 2),)",),
        MODULE_CALL,
    )
    text = render_plain(body, ReproAssertion("wrong_gradient", backward="sum"), PLAIN)
    assert "model(x).sum()" in text


def test_inputs_that_statements_make_keep_their_imaginary_part() -> None:
    given = ("r = torch.ones(2)", "x = torch.complex(r, r * 0)", "r.add_(1)", "return (x,)")
    body = ReproBody("def repro(x):\n    return torch.exp(x)", "repro", given, FUNCTION_CALL)
    lines = end(body, ReproAssertion("wrong_result", compiler="eager"))
    assert lines[-2] == "expected = torch.exp(x.cdouble()).to(actual.dtype)"


@pytest.mark.parametrize(
    ("name", "compared"),
    [
        ("requires_grad", "[out.requires_grad for out in {}]"),
        ("dtype", "[out.dtype for out in {}]"),
        ("stride", "[out.stride() for out in {}]"),
        ("alias", "len({{out.untyped_storage().data_ptr() for out in {}}})"),
        ("type", "[type(out) for out in {}]"),
    ],
)
def test_a_property_is_compared_for_every_output_of_a_tuple(name: str, compared: str) -> None:
    both = replace(ONE, definitions="def repro(x):\n    return (x + 1, x + 1)")
    assertion = ReproAssertion("wrong_metadata", property=name)
    assert PlainForm.EACH in list(list_plain_forms(assertion, draws=False))
    assert end(both, assertion, PlainForm.EACH)[-3:] == [
        f"expected = {compared.format('fn(x)')}",
        f"actual = {compared.format('torch.compile(fn)(x)')}",
        "assert actual == expected, (actual, expected)",
    ]


def test_wrong_values_of_another_dtype_are_compared_without_it() -> None:
    assertion = ReproAssertion("wrong_result")
    assert PlainForm.UNTYPED in list(list_plain_forms(assertion, draws=False))
    assert end(ONE, assertion, PlainForm.UNTYPED)[-1] == (
        "torch.testing.assert_close(torch.compile(fn)(x), fn(x), check_dtype=False)"
    )


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        (
            "wrong_result",
            [
                "x = torch.ones(2)",
                "fn = torch.func.grad(helper)",
                "torch.testing.assert_close(torch.compile(fn)(x), fn(x))",
            ],
        ),
        ("crash", ["x = torch.ones(2)", "torch.compile(torch.func.grad(helper1))(x)"]),
    ],
)
def test_a_transform_that_a_script_compiles_gets_a_name_where_both_sides_write_it(
    kind: str, lines: list[str]
) -> None:
    script = """
def program(compile):
    def helper1(value1):
        return value1.sum()
    value1 = torch.ones(2)
    out = compile(torch.func.grad(helper1))(value1)
    return (out, (value1,))
"""
    body = ReproBody(script, "program", ("return ()",), CallingConvention(is_script=True))
    assert end(body, ReproAssertion(kind)) == lines


def test_a_script_that_draws_before_its_call_may_set_a_seed_in_each_run() -> None:
    stale = ReproAssertion("stale_graph")
    whole, seeded = PlainForm.WHOLE, PlainForm.WHOLE | PlainForm.RESEED
    before, during = (
        list(list_plain_forms(stale, draws, is_script=True)) for draws in (False, True)
    )
    assert before.index(whole) < before.index(seeded)
    assert seeded in during and whole not in during


def test_a_program_that_is_exported_once_and_called_with_other_sizes() -> None:
    body = replace(MODULE, inputs=("return (torch.randn(n, 3),)",), sizes=(("n", 1),))
    assertion = ReproAssertion("crash", compiler="export", calls=((("n", 4),), (("n", 1),)))
    assert PlainForm.EXPORTED not in list(list_plain_forms(assertion, False))
    lines = end(body, assertion)
    assert lines[-2:] == [
        "exported = torch.export.export(model, (torch.randn(4, 3),)).module()",
        "exported(torch.randn(1, 3))",
    ]
    harness = render_harness(body, assertion)
    assert "torch.export.export(model, inputs(4)).module(), [(4,), (1,)])" in harness


def test_random_inputs_are_drawn_in_the_order_of_the_call() -> None:
    body = ReproBody(
        "def repro(x, y, z):\n    return torch.index_add(x, 0, y, z)",
        "repro",
        ("return (torch.rand(2), torch.randint(-1, 2, (2,)), torch.randn(2))",),
        FUNCTION_CALL,
    )
    accepts = ReproAssertion(Kind.ACCEPTS_INVALID)
    assert end(body, accepts) == [
        "torch.manual_seed(0)",
        "x = torch.rand(2)",
        "y = torch.randint(-1, 2, (2,))",
        "z = torch.randn(2)",
        "with unittest.TestCase().assertRaises(Exception):",
        "    torch.compile(fn)(x, y, z)",
    ]
    counted = replace(body, inputs=("return (torch.rand(2), torch.arange(2), torch.randn(2))",))
    assert "    torch.compile(fn)(torch.rand(2), torch.arange(2), torch.randn(2))" in end(
        counted, accepts
    )


@pytest.mark.parametrize(
    ("kind", "compared"),
    [
        ("crash", "compiled(torch.ones(2), scale=2, **more)"),
        (
            "wrong_result",
            "torch.testing.assert_close(compiled(x_, scale=2, **more), helper(x_, scale=2, **more))",
        ),
    ],
)
def test_a_script_may_give_its_failing_call_arguments_by_name(kind: str, compared: str) -> None:
    script = (
        "def program(compile):\n    def helper1(x, *, scale, shift):\n"
        "        return x * scale + shift\n    more = {'shift': 1}\n"
        "    compiled = compile(helper1)\n    out = compiled(torch.ones(2), scale=2, **more)\n"
        "    return (out, ())"
    )
    body = ReproBody(script, "program", ("return ()",), CallingConvention(is_script=True))
    assert render_plain(body, ReproAssertion(kind), PLAIN).splitlines()[-1] == compared
    with pytest.raises(ValueError, match="by name"):
        render_plain(body, ReproAssertion(kind), PlainForm.APART)
