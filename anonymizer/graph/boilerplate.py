"""The text around a program that makes it a repro: self-contained, seeded, ending in a plain
signal.

Exit 0 means the bug is gone, 125 that this machine cannot tell (eager fails here), anything else
that it is there. Wrong values are judged by `torch._dynamo.utils.same` with a float64 reference, as
the receiving side does. The beginnings of the assertion messages are fixed:
`reporter.core.signature` reads them back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

VALUE_KINDS = ("wrong_result", "wrong_gradient", "stale_graph")
#: The setting without which a worker compiles each graph itself.
CACHED = ("torch._inductor.config.fx_graph_cache", "True")
#: What makes the callable: torch.compile, torch.export, a package of AOTInductor, or the exporter
#: to ONNX.
COMPILE, EXPORT, AOTI, ONNX = "compile", "export", "aoti", "onnx"
#: Nothing makes one: the program is called as it is, and fails.
EAGER = "eager"
EXPORTERS = (EXPORT, AOTI, ONNX)
#: The function that makes a callable anew, with the state that it has.
FACTORY = "program"
#: The property of what a call writes to Python's state.
SIDE_EFFECT = "side effect"
#: How a derivative in eager mode is held against finite differences, as an expression of a callable
#: and a tuple of its arguments, by the `backward` of a check.
DERIVATIVES = {
    "gradcheck": "torch.autograd.gradcheck({}, {})",
    "gradgradcheck": "torch.autograd.gradgradcheck({}, {})",
    "forward": "torch.autograd.gradcheck({}, {}, check_forward_ad=True, check_backward_ad=False)",
}
#: How a repro takes it that the compiled call refuses what eager refuses; plainly, and among its
#: own lines.
REFUSED = "with unittest.TestCase().assertRaises(Exception):"
_AS_EAGER = ("    except Exception:", "        return")
#: What may differ from call to call: the parameters of `inputs()`, with their values in one call.
CallSizes = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class ReproCheck:
    """What a repro checks, and under which settings.

    `arguments` are the torch.compile keyword arguments as text, `config` assignments (`name`, value
    as text), `contexts` the expressions of `with` statements around the call, `backward` how
    gradients are asked for (none, sum, randn, or a check of `DERIVATIVES`), `calls` the sizes of
    successive calls where one compiled object is called several times. `compiler` is what makes the
    callable, with the `steps` that an exported program goes through before it is called;
    `arguments` are then those of torch.export.export.
    """

    kind: str
    arguments: tuple[tuple[str, str], ...] = ()
    config: tuple[tuple[str, str], ...] = ()
    contexts: tuple[str, ...] = ()
    backward: str = "none"
    property: str | None = None
    double: bool = True
    compare_inputs: bool = False
    eager_raises: bool = False
    evaluation: bool = False
    calls: tuple[CallSizes, ...] = ()
    prelude: str = ""
    summary: str = ""
    compiler: str = COMPILE
    steps: tuple[str, ...] = ()

    def without_argument(self, name: str) -> ReproCheck:
        """The check with one torch.compile argument left at its default."""
        return replace(self, arguments=tuple(item for item in self.arguments if item[0] != name))


@dataclass(frozen=True)
class ReproBody:
    """The program inside a harness: definitions, the callable's expression, the lines of `inputs`
    and its sizes.

    With `state_calls` the expression gives the callable and a function that reads Python's state,
    which is compared after so many calls; if it `observes_arguments`, the state of the arguments
    that are no tensors is compared, and the expression gives the callable alone. With `nested` the
    outputs may lie in containers of any sort.
    """

    definitions: str
    callable: str
    inputs: tuple[str, ...]
    is_module: bool
    sizes: CallSizes = ()
    imports: tuple[str, ...] = ()
    state_calls: int = 0
    observes_arguments: bool = False
    nested: bool = False


#: What an argument holds, with no address of an object.
_HELD = """def held(value):
    if isinstance(value, dict):
        return {key: held(item) for key, item in value.items()}
    if hasattr(value, "__iter__") and not isinstance(value, (torch.Tensor, str)):
        return [held(item) for item in value]
    if hasattr(value, "__dict__") and not isinstance(value, torch.Tensor):
        return type(value).__name__, held(vars(value))
    return value


"""
#: All tensors of what a program returns.
_LEAVES = """def leaves(out):
    if isinstance(out, torch.Tensor):
        return [out]
    if not isinstance(out, (tuple, list)):
        out = (out if isinstance(out, dict) else getattr(out, "__dict__", {})).values()
    return [leaf for part in out for leaf in leaves(part)]


"""


def render(body: ReproBody, check: ReproCheck) -> str:
    """The complete text of a repro: valid Python that black has not seen.

    Args:
        body: the program and its inputs.
        check: what is compared, and under which settings of torch.

    Returns:
        A script with `inputs()` and `main()`, which needs torch and the standard library alone.
    """
    main = _main(check)
    run = _run(body, check)
    for name, helper in (("leaves(", _LEAVES), ("held(", _HELD)):
        if name in "\n".join(run):
            run = [*helper.splitlines(), *run]
    # a prelude was written to stand alone; each import is wanted once, at the top
    prelude = check.prelude.splitlines()
    above = [line for line in prelude if line.startswith(("import ", "from "))]
    rest = "\n".join(line for line in prelude if line not in above).strip("\n")
    text = "\n".join([*run, *main, body.definitions, rest, *body.inputs])
    lines = [f'"""{check.summary}"""', ""] if check.summary else []
    lines += _imports(text, replace(body, imports=(*body.imports, *above)), check)
    lines += ["", *[f"{name} = {value}" for name, value in check.config], "", ""]
    if rest:
        lines += [rest, "", ""]
    lines += [body.definitions, "", ""]
    parameters = ", ".join(f"{name}={size}" for name, size in body.sizes)
    lines += [f"def inputs({parameters}):", *("    " + line for line in body.inputs), "", ""]
    lines += [*run, "", "", *main, "", "", 'if __name__ == "__main__":', "    main()", ""]
    return "\n".join(lines)


def render_tolerance(body: ReproBody, check: ReproCheck) -> str:
    """A script that fails where eager's own rounding exceeds the tolerance of `assert_close`.

    Its eager run stands against that in float64; nothing is compiled.
    """
    calls = _calls(check)
    main = [
        f"expected = run(lambda model: model{calls})",
        f"exact = run(lambda model: model{calls}, double=True)",
        "for e, x in zip(expected, exact):",
        "    torch.testing.assert_close(x.to(e.dtype), e, equal_nan=True)",
    ]
    whole = render(body, check)
    return whole[: whole.index("def main():")] + "\n".join([*main, ""])


def imports_of(body: ReproBody) -> list[str]:
    """The import statements that a body needs by itself, one a line; "" parts the groups."""
    return _imports(body.definitions, body, ReproCheck("crash"))


def _imports(text: str, body: ReproBody, check: ReproCheck) -> list[str]:
    """The import statements the text needs, standard library first, each once."""
    wanted = {"import torch", *body.imports}
    wanted |= {f"import {name.rsplit('.config.', 1)[0]}.config" for name, _ in check.config}
    if "torch.utils.checkpoint." in text:
        wanted.add("import torch.utils.checkpoint")
    if re.search(r"\bsys\.", text):
        wanted.add("import sys")
    if re.search(r"\bmath\.", text):
        wanted.add("import math")
    if re.search(r"(?<!torch\.)\bnn\.", text):
        wanted.add("from torch import nn")
    if re.search(r"\bF\.", text):
        wanted.add("import torch.nn.functional as F")
    if re.search(r"\bsame\(", text):
        wanted.add("from torch._dynamo.utils import same")
    own = [line for line in wanted if "torch" in line]
    others = sorted(line for line in wanted if line and line not in own)
    return [
        *others,
        *([""] if others else []),
        *sorted(own, key=lambda line: (line.startswith("from"), line)),
    ]


def compile_expression(check: ReproCheck, model: str, args: str) -> str:
    """The expression of what the check makes of a program: the text of a callable.

    Args:
        model: the expression of the program.
        args: the text of a tuple, the arguments that it is exported for.
    """
    if check.compiler == COMPILE:
        return f"torch.compile({model}{_arguments(check)})"
    if check.compiler == EAGER:
        return model
    made = export_expression(check, model, args)
    if check.compiler == AOTI:
        return f"torch._inductor.aoti_load_package({made})"
    if check.compiler == ONNX:
        return made
    return made if "unflatten" in check.steps else f"{made}.module()"


def export_expression(check: ReproCheck, model: str, args: str) -> str:
    """The expression of what is exported and not called: a program, an unflattened module, the path
    of a package, or a model of ONNX, which returns a tuple.
    """
    options = _arguments(check).replace(" in args]", f" in {args}]")
    if check.compiler == ONNX and check.steps == ("onnx",):
        return f"torch.onnx.export({model}, {args}, dynamo=True{options})"
    export = "draft_export" if "draft" in check.steps else "export"
    program = f"torch.export.{export}({model}, {args}{options})"
    if "decompose" in check.steps:
        program += ".run_decompositions()"
    if check.compiler == ONNX:
        return f"torch.onnx.export({program}, dynamo=True)"
    if check.compiler == AOTI:
        return f"torch._inductor.aoti_compile_and_package({program})"
    return f"torch.export.unflatten({program})" if "unflatten" in check.steps else program


def _arguments(check: ReproCheck) -> str:
    return "".join(f", {name}={value}" for name, value in check.arguments)


def _compile(check: ReproCheck) -> str:
    """What the harness makes of its `model`."""
    if check.compiler not in EXPORTERS:
        return compile_expression(check, "model", "")
    return f"lambda *args: {compile_expression(check, 'model', 'args')}(*args)"


def _run(body: ReproBody, check: ReproCheck) -> list[str]:
    """`run(compile, double)`: one seeded run, on fresh state, that returns what is to be compared
    as a list.
    """
    if check.backward in DERIVATIVES:
        made = ["def run(*args):", "    torch.manual_seed(0)"]
        return [*made, f"    return {body.callable}(*args)"]
    if body.state_calls:
        return _run_for_state(body, check)
    double = check.double and check.kind in VALUE_KINDS
    sizes = "" if not check.calls else ", calls"
    lines = [
        f"def run(compile{sizes}{', double=False' if double else ''}):",
        "    torch.manual_seed(0)",
    ]
    lines.append(
        f"    model = {body.callable}" + (".eval()" if check.evaluation and body.is_module else "")
    )
    if check.calls:
        if double and body.is_module:
            lines += ["    if double:", "        model = model.double()"]
        lines += [
            "    function = compile(model)",
            "    for sizes in calls:",
            "        args = inputs(*sizes)",
        ]
        indent = "        "
        function = "function"
        if double:
            lines += ["        if double:", f"            args = {_widen(body, check)}"]
    else:
        lines.append("    args = inputs()")
        indent = "    "
        function = "compile(model)"
        if double:
            lines.append("    if double:")
            if body.is_module:
                lines.append("        model = model.double()")
            lines.append(f"        args = {_widen(body, check)}")
    for context in check.contexts:
        lines.append(f"{indent}with {context}:")
        indent += "    "
    lines.append(f"{indent}out = {function}(*args)")
    results = _results(body, check)
    if check.calls and check.backward != "none":  # as a training loop does, after each call
        *backward, returned = results
        return [*lines, *("    " + line for line in backward), returned]
    return lines + results


def _run_for_state(body: ReproBody, check: ReproCheck) -> list[str]:
    """`run(compile)`, which returns Python's state as text."""
    made = f"    model, state = {body.callable}"
    args, state = "inputs()", "state()"
    lines = ["def run(compile):", "    torch.manual_seed(0)"]
    if body.observes_arguments:
        made = f"    model = {body.callable}"
        args, state = "args", "[held(arg) for arg in args if not isinstance(arg, torch.Tensor)]"
        lines.append("    args = inputs()")
    lines += [made, "    function = compile(model)"]
    indent = "    "
    for context in check.contexts:
        lines.append(f"{indent}with {context}:")
        indent += "    "
    if body.state_calls > 1:
        lines.append(f"{indent}for _ in range({body.state_calls}):")
        indent += "    "
    return [*lines, f"{indent}function(*{args})", f"    return str({state})"]


def _widen(body: ReproBody, check: ReproCheck) -> str:
    """The arguments in float64, as an expression; only tensors have one."""
    is_float = "x.is_floating_point()"
    if not _has_only_tensors(body):
        is_float = f"isinstance(x, torch.Tensor) and {is_float}"
    wide = "x.double()"
    if check.backward != "none":
        wide = "x.detach().double().requires_grad_(x.requires_grad)"
    return f"[{wide} if {is_float} else x for x in args]"


def _has_only_tensors(body: ReproBody) -> bool:
    """Whether each argument is certainly a tensor."""
    function = ast.parse("def inputs():\n" + "\n".join("    " + line for line in body.inputs)).body[
        0
    ]
    assert isinstance(function, ast.FunctionDef)
    made: dict[str, bool] = {}
    for node in function.body:
        if isinstance(node, ast.Assign):
            made[ast.unparse(node.targets[0])] = _is_tensor(node.value, made)
    last = function.body[-1]
    given = (
        last.value.elts
        if isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)
        else []
    )
    return all(_is_tensor(item, made) for item in given)


def _is_tensor(value: ast.expr, made: Mapping[str, bool]) -> bool:
    """Whether an expression of `inputs()` makes a tensor; `made` says it of the names so far."""
    if isinstance(value, ast.Name):
        return made.get(value.id, False)
    if isinstance(value, ast.IfExp):
        return _is_tensor(value.body, made) and _is_tensor(value.orelse, made)
    if isinstance(value, (ast.BinOp, ast.Compare)):
        return _is_tensor(value.left, made)
    if isinstance(value, ast.UnaryOp):
        return _is_tensor(value.operand, made)
    if isinstance(value, ast.Subscript):
        return _is_tensor(value.value, made)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        is_of_torch = ast.unparse(value.func).startswith(("torch.", "nn.Parameter"))
        return is_of_torch or _is_tensor(value.func.value, made)
    return False


def let_through(text: str) -> str:
    """A repro of a call that eager refuses, without what keeps the compiled call's exceptions
    back: it ends with them, and as before where there is none.
    """
    for caught in (REFUSED, "\n".join(_AS_EAGER)):
        text = text.replace(caught, caught.replace("Exception", "StopAsyncIteration"))
    return text


def _results(body: ReproBody, check: ReproCheck) -> list[str]:
    lines = []
    outputs = "leaves(out)" if body.nested else "out if isinstance(out, (tuple, list)) else [out]"
    if check.backward != "none":
        # the parameters of an exported program are its own
        is_exported = check.compiler in EXPORTERS
        state = "(*model.parameters(), *args)" if body.is_module and not is_exported else "args"
        lines.append(
            f"    outs = [o for o in ({outputs}) if isinstance(o, torch.Tensor) and"
            " o.requires_grad]"
        )
        if check.backward == "sum":
            lines.append("    sum(o.sum() for o in outs).backward()")
        else:
            lines.append("    torch.manual_seed(1)")
            lines.append(
                "    torch.autograd.backward(outs, [torch.randn(o.shape).to(o.dtype) for o in"
                " outs])"
            )
        if check.kind == "wrong_gradient":
            lines.append(
                f"    return [x.grad for x in {state} if x.requires_grad and x.grad is not None]"
            )
            return lines
    if check.property == "alias":
        # an exported program has parameters of its own
        has_state = body.is_module and check.compiler not in EXPORTERS
        state = "*model.parameters(), *model.buffers(), " if has_state else ""
        lines.append(f"    return [*({outputs}), {state}*args]")
    elif check.compare_inputs:
        lines.append(f"    return [*({outputs}), *args]")
    else:
        lines.append(f"    return {outputs}")
    return lines


def _calls(check: ReproCheck) -> str:
    if not check.calls:
        return ""
    rows = []
    for call in check.calls:
        values = ", ".join(str(size) for _, size in call)
        rows.append(f"({values},)" if len(call) == 1 else f"({values})")
    return ", [" + ", ".join(rows) + "]"


def _main(check: ReproCheck) -> list[str]:
    calls = _calls(check)
    eager = f"run(lambda model: model{calls})"
    compiled = f"run(lambda model: {_compile(check)}{calls})"
    lines = ["def main():"]
    if check.backward in DERIVATIVES:
        return [*lines, *_check_derivative(check)]
    if check.compiler == EAGER:
        return [*lines, *(_compare_exact() if check.kind in VALUE_KINDS else [f"    {compiled}"])]
    if check.kind == "accepts_invalid" or check.eager_raises:
        lines += [
            "    try:",
            f"        {eager}",
            "    except Exception as error:",
            '        print("eager raises", type(error).__name__)',
            "    else:",
            "        sys.exit(125)",
            "    try:",
            f"        {compiled}",
            *_AS_EAGER,
        ]
        if check.kind == "accepts_invalid":
            lines.append(
                '    raise AssertionError("accepts invalid: eager raises, the compiled call'
                ' returns")'
            )
        return lines
    lines += [
        "    try:",
        f"        {'expected = ' if check.kind in (*VALUE_KINDS, 'wrong_metadata') else ''}{eager}",
        "    except Exception as error:",
        '        print("eager fails here:", error)',
        "        sys.exit(125)",
    ]
    if check.kind in VALUE_KINDS:
        return lines + _compare_values(check, compiled, calls)
    if check.kind == "wrong_metadata":
        return lines + _compare_metadata(check, compiled)
    return [*lines, f"    {compiled}"]


def _compare_values(check: ReproCheck, compiled: str, calls: str) -> list[str]:
    prefix = {
        "wrong_result": "wrong result",
        "wrong_gradient": "wrong gradient",
        "stale_graph": "stale graph",
    }[check.kind]
    lines = [f"    actual = {compiled}"]
    if not check.double:
        return [
            *lines,
            "    for e, a in zip(expected, actual):",
            "        error = (a.double() - e.double()).abs().max().item()",
            (
                f'        assert same(e, a, equal_nan=True), f"{prefix}: max abs error'
                ' {error:.4g} against eager"'
            ),
        ]
    return [
        *lines,
        f"    exact = run(lambda model: model{calls}, double=True)",
        "    for e, a, x in zip(expected, actual, exact):",
        "        off = [(t.double() - x.double()).square().mean().sqrt().item() for t in (e, a)]",
        "        assert same(e, a, fp64_ref=x, equal_nan=True), (",
        (
            f'            f"{prefix}: eager is off by {{off[0]:.4g}} from float64, compiled by'
            ' {off[1]:.4g}"'
        ),
        "        )",
    ]


def _compare_exact() -> list[str]:
    """Eager held against float64, with the limits of `collectors.call.operators.check`."""
    return [
        "    try:",
        "        exact = run(lambda model: model, double=True)",
        "    except Exception as error:",
        '        print("there is no float64 here:", error)',
        "        sys.exit(125)",
        "    actual = run(lambda model: model)",
        "    for a, x in zip(actual, exact):",
        "        if a.dtype == x.dtype:",
        "            continue",
        "        held = x.abs() <= torch.finfo(a.dtype).max",
        "        error = (a.to(x.dtype) - x)[held].abs().max().item()",
        "        limit = torch.finfo(a.dtype).eps ** 0.5 * x[held].abs().max().item()",
        '        assert error <= limit, f"wrong result: eager is off by {error:.4g} from float64"',
    ]


def _check_derivative(check: ReproCheck) -> list[str]:
    """Finite differences, at the inputs and beside them: at a kink nothing is wrong."""
    expression = DERIVATIVES[check.backward].format("run", "args")
    return [
        "    torch.manual_seed(0)",
        "    given = inputs()",
        "    numbers = [x for x in given if x.is_floating_point() or x.is_complex()]",
        "    wide = (torch.float64, torch.complex128)",
        "    exact = all(x.dtype in wide for x in numbers)",
        "    if not exact or not any(x.requires_grad for x in given):",
        "        sys.exit(125)",
        "    for step in (0.0, 1e-3, 0.3):",
        "        args = [",
        "            (x + step * (0.5 + torch.rand_like(x))).detach() if x.dtype in wide else x",
        "            for x in given",
        "        ]",
        "        for x, moved in zip(given, args):",
        "            moved.requires_grad_(x.requires_grad)",
        "        try:",
        f"            {expression}",
        "        except RuntimeError as error:",
        "            refused = error",
        "        else:",
        "            return",
        "    raise refused",
    ]


def _compare_metadata(check: ReproCheck, compiled: str) -> list[str]:
    name = check.property or "dtype"
    lines = [f"    actual = {compiled}"]
    if name == SIDE_EFFECT:
        return [
            "    if run(lambda model: model) != expected:",
            '        print("the state is another one in each run")',
            "        sys.exit(125)",
            *lines,
            "    assert expected == actual, (",
            (
                '        f"wrong metadata: side effect: the state is {expected} in eager, {actual}'
                ' compiled"'
            ),
            "    )",
        ]
    if name == "structure":
        return [
            *lines,
            '    assert len(expected) == len(actual), "wrong metadata: structure of the outputs"',
        ]
    if name in ("python value", "type"):
        value = "type({0})" if name == "type" else "{0}"
        lines.append("    for e, a in zip(expected, actual):")
        lines.append("        if not isinstance(e, torch.Tensor):")
        lines.append(
            f'            assert {value.format("e")} == {value.format("a")}, f"wrong metadata:'
            f' {name} is {{e}} in eager, {{a}} compiled"'
        )
        return lines
    access = {"stride": ".stride()", "device": ".device"}.get(name, f".{name}")
    if name == "alias":
        return [
            *lines,
            "    shared = []",
            "    for values in (expected, actual):",
            "        memory = [",
            "            x.untyped_storage().data_ptr()",
            "            for x in values",
            "            if isinstance(x, torch.Tensor)",
            "        ]",
            "        shared.append([memory.index(address) for address in memory])",
            (
                '    assert shared[0] == shared[1], f"wrong metadata: alias is'
                ' {shared[0]} in eager, {shared[1]} compiled"'
            ),
        ]
    return [
        *lines,
        "    for e, a in zip(expected, actual):",
        "        if isinstance(e, torch.Tensor):",
        f"            assert e{access} == a{access}, (",
        (
            f'                f"wrong metadata: {name} is {{e{access}}} in eager, {{a{access}}}'
            ' compiled"'
        ),
        "            )",
    ]
