"""The function `run` of a harness: one seeded run of the program, on fresh state, that returns what
is to be compared.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from anonymizer.graph.program_factory import walk_scope
from anonymizer.graph.randomness import write_seed
from anonymizer.graph.repro import (
    DERIVATIVE_CHECKS,
    KEEP_GRADIENT,
    ReproAssertion,
    ReproBody,
    indent,
)
from anonymizer.kinds import EXPORTERS, WRONG_VALUES, Differentiation, Kind
from collectors.protocol.repro_words import Property

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
_ARRAY = 'type(out).__module__ == "numpy"'
#: Arrays and numbers of NumPy as the tensors that are compared.
_TENSORS = """def tensors(values):
    return [
        torch.as_tensor(value) if type(value).__module__ == "numpy" else value for value in values
    ]


"""


def write_helpers(run: list[str]) -> list[str]:
    """The functions that a function `run` calls."""
    text = "\n".join(run)
    leaves = _LEAVES
    if "tensors(" in text:
        leaves = leaves.replace("torch.Tensor):", f"torch.Tensor) or {_ARRAY}:")
    helpers = (("held(", _HELD), ("leaves(", leaves), ("tensors(", _TENSORS))
    return [line for name, helper in helpers if name in text for line in helper.splitlines()]


def write_run(body: ReproBody, assertion: ReproAssertion) -> list[str]:
    """`run(compile)`, which makes a callable of the program by `compile`, calls it, and returns a
    list.

    It is also given the sizes of its `calls`, where there are several, and whether it computes in
    `double`, where values are held against float64.
    """
    if assertion.backward in DERIVATIVE_CHECKS:
        returned = f"return {body.callable}(*args)"
        return ["def run(*args):", *indent([write_seed(assertion.seed), returned])]
    if body.convention.state_calls:
        return _run_for_state(body, assertion)
    if body.convention.is_script:
        return _run_for_script(body, assertion)
    is_widened = assertion.double and assertion.kind in WRONG_VALUES
    made = body.callable + (".eval()" if assertion.evaluation and body.convention.is_module else "")
    steps = [f"model = {made}", *_write_calls(body, assertion, is_widened)]
    if "set_grad_enabled" in body.definitions:  # what one run leaves is nothing to the next one
        steps.insert(1, "torch.set_grad_enabled(True)")
    more = (", calls" if assertion.calls else "") + (", double=False" if is_widened else "")
    return [
        f"def run(compile{more}):",
        *indent([write_seed(assertion.seed), *steps, _write_return(body, assertion)]),
    ]


def _write_calls(body: ReproBody, assertion: ReproAssertion, is_widened: bool) -> list[str]:
    """The statements that make arguments and call `model` with them: once, several times with the
    same arguments, or with new ones of each size.
    """

    def indent_if_double(lines: list[str]) -> list[str]:
        return ["if double:", *indent(lines)] if is_widened and lines else []

    wide_model = ["model = model.double()"] if body.convention.is_module else []
    wide_args = [f"args = {_widen(body, assertion)}"]
    called = "function" if assertion.calls else "compile(model)"
    call = [f"out = {called}(*args)"]
    if assertion.backward == Differentiation.TANGENTS:
        call = _push_tangents(called, _write_outputs(body))
    call = assertion.wrap_in_contexts(call)
    # as a training loop does, gradients are asked for after each call
    call = [*call, *_write_backward(body, assertion)]
    if not assertion.calls:
        return ["args = inputs()", *indent_if_double([*wide_model, *wide_args]), *call]
    compiled = [*indent_if_double(wide_model), "function = compile(model)"]
    if assertion.compiler in EXPORTERS:  # the example that it is exported for is drawn as well
        compiled.append(write_seed(assertion.seed))
    if assertion.keeps_arguments:
        made = ["args = inputs()", *indent_if_double(wide_args)]
        return [*compiled, *made, "for _ in calls:", *indent(call)]
    made = ["args = inputs(*sizes)", *indent_if_double(wide_args)]
    return [*compiled, "for sizes in calls:", *indent([*made, *call])]


def _push_tangents(called: str, outputs: str) -> list[str]:
    """The call in forward mode, whose `out` are the tangents; zeros for those that are missing."""
    tangent = "torch.zeros_like(o.primal) if o.tangent is None else o.tangent"
    return [
        "with torch.autograd.forward_ad.dual_level():",
        "    duals = [",
        "        torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))",
        "        if isinstance(x, torch.Tensor) and x.is_floating_point() else x",
        "        for x in args",
        "    ]",
        f"    out = {called}(*duals)",
        f"    outs = [torch.autograd.forward_ad.unpack_dual(o) for o in ({outputs})]",
        f"    out = [{tangent} for o in outs]",
    ]


def _run_for_state(body: ReproBody, assertion: ReproAssertion) -> list[str]:
    """`run(compile)`, which returns Python's state as text."""
    if body.convention.observes_arguments:
        made = ["args = inputs()", f"model = {body.callable}"]
        args, state = "args", "[held(arg) for arg in args if not isinstance(arg, torch.Tensor)]"
        if f".{KEEP_GRADIENT}(" in body.definitions:
            kept = "arg.retains_grad if isinstance(arg, torch.Tensor) else held(arg)"
            state = f"[{kept} for arg in args]"
    else:
        made = [f"model, state = {body.callable}"]
        args, state = "inputs()", "state()"
    call = [f"function(*{args})"]
    if body.convention.state_calls > 1:
        call = [f"for _ in range({body.convention.state_calls}):", *indent(call)]
    steps = [*made, "function = compile(model)", *assertion.wrap_in_contexts(call)]
    return [
        "def run(compile):",
        *indent([write_seed(assertion.seed), *steps, f"return str({state})"]),
    ]


def _run_for_script(body: ReproBody, assertion: ReproAssertion) -> list[str]:
    """`run(compile)` of a script, which compiles and calls by itself."""
    steps = [
        f"out, args = {body.callable}(compile)",
        *_write_backward(body, assertion),
        _write_return(body, assertion),
    ]
    return ["def run(compile):", *indent([write_seed(assertion.seed), *steps])]


# -- arguments in float64 --------------------------------------------------------------------------


def _widen(body: ReproBody, assertion: ReproAssertion) -> str:
    """The arguments in float64, as an expression; only tensors have one."""
    is_float = "x.is_floating_point()"
    if not _has_only_tensors(body):
        is_float = f"isinstance(x, torch.Tensor) and {is_float}"
    wide = "x.double()"
    if assertion.backward != Differentiation.NONE:
        wide = "x.detach().double().requires_grad_(x.requires_grad)"
    if "complex" in ast.unparse(body.parse_inputs()):
        wide = f"{wide.replace('double', 'cdouble')} if torch.is_complex(x) else {wide}"
        is_float = f"isinstance(x, torch.Tensor) and (torch.is_complex(x) or {is_float})"
    return f"[{wide} if {is_float} else x for x in args]"


def _has_only_tensors(body: ReproBody) -> bool:
    """Whether each argument is certainly a tensor."""
    statements = body.parse_inputs().body
    made: dict[str, bool] = {}
    for node in statements:
        if isinstance(node, ast.Assign):
            made[ast.unparse(node.targets[0])] = _is_tensor(node.value, made)
    last = statements[-1]
    given = last.value if isinstance(last, ast.Return) else None
    items = given.elts if isinstance(given, ast.Tuple) else []
    return all(_is_tensor(item, made) for item in items)


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
        if value.func.attr == "numpy":
            return False
        is_of_torch = ast.unparse(value.func).startswith(("torch.", "nn.Parameter"))
        return is_of_torch or _is_tensor(value.func.value, made)
    return False


# -- what is returned ------------------------------------------------------------------------------


_AS_RETURNED = "out if isinstance(out, (tuple, list)) else [out]"
#: Properties of what is no tensor, or of what holds the tensors.
_OF_CONTAINERS = (Property.STRUCTURE, Property.TYPE, Property.PYTHON_VALUE)


def _write_outputs(body: ReproBody) -> str:
    """The outputs of a call as a list or a tuple."""
    return "leaves(out)" if body.convention.nested else _AS_RETURNED


def _returns_nothing(body: ReproBody) -> bool:
    """Whether the program only changes what it is given."""
    name, _, _ = body.callable.partition("(")
    for node in ast.walk(ast.parse(body.definitions)):
        if isinstance(node, ast.ClassDef) and node.name == name:
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef))
            return any(each.name == "forward" and _has_no_value(each) for each in methods)
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return _has_no_value(node)
    return False


def _has_no_value(function: ast.FunctionDef) -> bool:
    nodes = list(walk_scope(function.body))
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in nodes):
        return False
    returned = [node.value for node in nodes if isinstance(node, ast.Return)]
    return all(value is None or ast.unparse(value) == "None" for value in returned)


def _has_state(body: ReproBody, assertion: ReproAssertion) -> bool:
    """Whether the model's tensors are compared too; those of an exported program are its own."""
    return body.convention.is_module and assertion.compiler not in EXPORTERS


def _write_backward(body: ReproBody, assertion: ReproAssertion) -> list[str]:
    """The backward pass, if gradients are asked for."""
    if assertion.backward in (Differentiation.NONE, Differentiation.TANGENTS):
        return []
    outs = (
        f"outs = [o for o in ({_write_outputs(body)})"
        " if isinstance(o, torch.Tensor) and o.requires_grad]"
    )
    if assertion.backward == Differentiation.SUM:
        return [outs, "sum(o.sum() for o in outs).backward()"]
    tangents = "[torch.randn(o.shape).to(o) for o in outs]"
    return [
        outs,
        write_seed(assertion.list_seeds()[1]),
        f"torch.autograd.backward(outs, {tangents})",
    ]


def _write_gradients(body: ReproBody, assertion: ReproAssertion) -> str:
    """The gradients as a list, with zeros for those that are missing, so that both sides have as
    many; of an exported program those of the arguments, where some take one.
    """
    is_needed = assertion.compiler not in EXPORTERS or "requires_grad" not in "".join(body.inputs)
    has_parameters = body.convention.is_module and is_needed and assertion.shares_parameters()
    state = "(*model.parameters(), *args)" if has_parameters else "args"
    gradient = "torch.zeros_like(x) if x.grad is None else x.grad"
    return f"[{gradient} for x in {state} if x.requires_grad]"


def _write_return(body: ReproBody, assertion: ReproAssertion) -> str:
    """The statement that returns what is compared."""
    outputs = _write_outputs(body)
    if assertion.backward == Differentiation.TANGENTS:
        return "return out"
    if assertion.backward != Differentiation.NONE and assertion.kind == Kind.WRONG_GRADIENT:
        return f"return {_write_gradients(body, assertion)}"
    if (
        body.convention.is_script
        and assertion.backward != Differentiation.NONE
        and assertion.kind == Kind.STALE_GRAPH
    ):
        return f"return [*({outputs}), *{_write_gradients(body, assertion)}]"
    returned = _write_compared(body, assertion, outputs)
    return f"return tensors({returned})" if _has_arrays(body) else f"return {returned}"


def _has_arrays(body: ReproBody) -> bool:
    """Whether the program computes with arrays of NumPy, or is given some."""
    return "import numpy" in body.imports or ".numpy()" in "".join(body.inputs)


def _write_compared(body: ReproBody, assertion: ReproAssertion, outputs: str) -> str:
    """The results that are compared where none are gradients, as a list or a tuple."""
    if assertion.compare_inputs and _returns_nothing(body):
        return "args"
    if assertion.property in _OF_CONTAINERS:
        outputs = _AS_RETURNED
    if assertion.property == Property.ALIAS:
        state = "*model.parameters(), *model.buffers(), " if _has_state(body, assertion) else ""
        return f"[*({outputs}), {state}*args]"
    return f"[*({outputs}), *args]" if assertion.compare_inputs else outputs
