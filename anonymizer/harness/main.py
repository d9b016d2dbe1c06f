"""The function `main` of a harness: an eager run, a compiled one, and what is compared of them.

Wrong values are judged by `torch._dynamo.utils.same` with a float64 reference, as the receiving
side does. The beginnings of the assertion messages are fixed: `reporter.core.signature` reads them
back.
"""

from __future__ import annotations

import re

from anonymizer.graph.compilation import write_compilation
from anonymizer.graph.repro import DERIVATIVE_CHECKS, CallSizes, ReproAssertion, indent
from anonymizer.harness.derivatives import check_derivative
from anonymizer.kinds import EXPORTERS, WRONG_VALUES, Compiler, Kind, assert_never
from collectors.protocol.repro_words import CANNOT_JUDGE_STATEMENT, Property

#: How `main` takes it that the compiled call refuses what eager refuses.
AS_EAGER = ("except Exception:", "    return")
#: The end of a message that names an output; `find_named_output` reads it.
_OUTPUT_SUFFIX = " in output {n}"


def write_main(assertion: ReproAssertion, has_complex: bool = False) -> list[str]:
    """`main()`, which returns where the bug is gone, raises where it is there, and exits with 125
    where this machine cannot tell.

    Args:
        has_complex: whether some of what is compared may be complex numbers.
    """
    return ["def main():", *indent(_list_steps(assertion, has_complex))]


def find_named_output(message: str) -> int | None:
    """The number, from 0, of the output that a message names at its end: `… in output 2`."""
    found = re.search(r" in output (\d+)$", message)
    return int(found[1]) if found else None


def write_run_arguments(assertion: ReproAssertion) -> str:
    """The sizes of successive calls as the second argument of `run`, with the comma before it."""
    if not assertion.calls:
        return ""
    rows = []
    for call in assertion.calls:
        values = _write_sizes(call)
        rows.append(f"({values},)" if len(call) == 1 else f"({values})")
    return ", [" + ", ".join(rows) + "]"


def _write_sizes(call: CallSizes) -> str:
    return ", ".join(str(size) for _, size in call)


def _list_steps(assertion: ReproAssertion, has_complex: bool) -> list[str]:
    calls = write_run_arguments(assertion)
    eager = f"run(lambda model: model{calls})"
    compiled = f"run(lambda model: {_compile(assertion)}{calls})"
    if assertion.backward in DERIVATIVE_CHECKS:
        return check_derivative(assertion)
    if assertion.compiler == Compiler.EAGER:
        return _compare_exact() if assertion.kind in WRONG_VALUES else [compiled]
    if assertion.kind == Kind.ACCEPTS_INVALID or assertion.eager_raises:
        return _expect_refusal(assertion, eager, compiled)
    if assertion.kind == Kind.WRONG_METADATA or assertion.property is not None:
        return [*_try_eager(f"expected = {eager}"), *_compare_property(assertion, compiled)]
    if assertion.kind in WRONG_VALUES:
        exact = f"run(lambda model: model{calls}, double=True)"
        wide = "cdouble" if has_complex else "double"  # which drops imaginary parts
        compared = _compare_values(assertion, compiled, exact, wide)
        return [*_try_eager(f"expected = {eager}"), *compared]
    return [*_try_eager(eager), compiled]


def _compile(assertion: ReproAssertion) -> str:
    """What the harness makes of its `model`, as an expression."""
    if assertion.compiler not in EXPORTERS:
        return write_compilation(assertion, "model", "")
    if assertion.calls:  # exported once, for the arguments of the first call
        return write_compilation(assertion, "model", f"inputs({_write_sizes(assertion.calls[0])})")
    return f"lambda *args: {write_compilation(assertion, 'model', 'args')}(*args)"


def _try_eager(run: str) -> list[str]:
    return [
        "try:",
        f"    {run}",
        "except Exception as error:",
        '    print("eager fails here:", error)',
        f"    {CANNOT_JUDGE_STATEMENT}",
    ]


def _expect_refusal(assertion: ReproAssertion, eager: str, compiled: str) -> list[str]:
    """Eager raises, and the compiled call ought to."""
    accepts = assertion.kind == Kind.ACCEPTS_INVALID
    lines = [
        "try:",
        f"    {eager}",
        "except Exception as error:",
        '    print("eager raises", type(error).__name__)',
        *(["    refused = error"] if accepts else []),
        "else:",
        f"    {CANNOT_JUDGE_STATEMENT}",
        "try:",
        f"    {compiled}",
        *AS_EAGER,
    ]
    if accepts:
        message = "accepts invalid: the compiled call returns where eager raises {refused}"
        lines.append(f'raise AssertionError(f"{message}")')
    return lines


def _compare_values(assertion: ReproAssertion, compiled: str, exact: str, wide: str) -> list[str]:
    """The two runs, held against one in float64 where there is one; `wide` is the method that makes
    both sides of a difference so.
    """
    prefix = assertion.kind.replace("_", " ")
    which = _OUTPUT_SUFFIX if assertion.names_output else ""
    compared, reference = ("u, v", "w") if assertion.by_size else ("e, a", "x")
    if not assertion.double:
        error = f"(a.{wide}() - e.{wide}()).abs().max()"  # what is empty has none, and is the same
        return [
            f"actual = {compiled}",
            _write_loop(assertion, "e, a", "expected, actual"),
            *_normalize(assertion, "e, a", "e"),
            f"    assert same({compared}, equal_nan=True), (",
            f'        f"{prefix}: max abs error {{{error}:.4g}} against eager{which}"',
            "    )",
        ]
    message = f"{prefix}: eager is off by {{off[0]:.4g}} from float64, compiled by {{off[1]:.4g}}"
    message += which
    error = f"(t.{wide}() - x.{wide}())" + (".abs()" if wide == "cdouble" else "")
    return [
        f"actual = {compiled}",
        f"exact = {exact}",
        _write_loop(assertion, "e, a, x", "expected, actual, exact"),
        f"    off = [{error}.square().mean().sqrt().item() for t in (e, a)]",
        *_normalize(assertion, "e, a, x", "x"),
        f"    assert same({compared}, fp64_ref={reference}, equal_nan=True), (",
        f'        f"{message}"',
        "    )",
    ]


def _normalize(assertion: ReproAssertion, names: str, by: str) -> list[str]:
    """Makes of values that are smaller than the absolute tolerance of `same` others of the size of
    one: `u`, `v` and, for float64, `w`.
    """
    if not assertion.by_size:
        return []
    made = "u, v, w"[: len(names)]
    return [
        f"    {made} = {names}",
        f"    if {by}.is_floating_point() and {by}.numel():",
        f"        scale = {by}.abs().max().item() or 1.0",
        f"        {made} = {names.replace(',', ' / scale,')} / scale",
    ]


def _write_loop(assertion: ReproAssertion, names: str, values: str) -> str:
    """The head of the loop over what is compared, which counts where the message needs it."""
    if assertion.names_output:
        return f"for n, ({names}) in enumerate(zip({values})):"
    return f"for {names} in zip({values}):"


def _compare_exact() -> list[str]:
    """Eager held against float64, with the limits of `collectors.call.operators.measurement`; of
    complex numbers each part alone.
    """
    return [
        "try:",
        "    exact = run(lambda model: model, double=True)",
        "except Exception as error:",
        '    print("there is no float64 here:", error)',
        f"    {CANNOT_JUDGE_STATEMENT}",
        "actual = run(lambda model: model)",
        "for a, x in zip(actual, exact):",
        "    if a.dtype == x.dtype:",
        "        continue",
        "    if a.is_complex():",
        "        a, x = torch.view_as_real(a), torch.view_as_real(x)",
        "    held = (x.abs() <= torch.finfo(a.dtype).max) | (x.isinf() & a.isnan())",
        "    error = (a.to(x.dtype) - x)[held].abs().max().item()",
        "    limit = torch.finfo(a.dtype).eps ** 0.5 * x[held].abs().max().item()",
        '    assert error <= limit, f"wrong result: eager is off by {error:.4g} from float64"',
    ]


def _write_nested(name: str, kept: str, head: str = "") -> list[str]:
    """A function of a result: its tuples, lists and dicts, with what is kept of each `out` in them,
    and beside each tuple or list its `head`.
    """
    parts = f"[{name}(each) for each in out]"
    return [
        f"def {name}(out):",
        "    if isinstance(out, (tuple, list)):",
        f"        return {head}{parts}",
        "    if isinstance(out, dict):",
        f"        return {{key: {name}(each) for key, each in out.items()}}",
        f"    return {kept}",
    ]


def _compare_property(assertion: ReproAssertion, compiled: str) -> list[str]:
    """One property of the two runs' results."""
    name = assertion.property or Property.DTYPE
    wrong = f"{assertion.kind.replace('_', ' ')}: {name}"
    actual = f"actual = {compiled}"
    match name:
        case Property.SIDE_EFFECT:
            message = f"{wrong}: the state is {{expected}} in eager, {{actual}} compiled"
            return [
                "if run(lambda model: model) != expected:",
                '    print("the state is another one in each run")',
                f"    {CANNOT_JUDGE_STATEMENT}",
                actual,
                "assert expected == actual, (",
                f'    f"{message}"',
                ")",
            ]
        case Property.STRUCTURE:
            return [
                actual,
                *_write_nested("shape", "None", 'getattr(out, "_fields", None), '),
                f'assert shape(expected) == shape(actual), "{wrong} of the outputs"',
            ]
        case Property.PYTHON_VALUE | Property.TYPE:
            # classes by their names: each run of a script has its own
            kept = "None if isinstance(out, torch.Tensor) else out"
            kept = "type(out).__name__" if name == Property.TYPE else kept
            message = f"{wrong} is {{e}} in eager, {{a}} compiled"
            return [
                actual,
                *_write_nested("plain", kept),
                "e, a = plain(expected), plain(actual)",
                f'assert e == a, f"{message}"',
            ]
        case Property.ALIAS:
            return [actual, *_compare_shared_memory(wrong)]
        case (
            Property.DTYPE
            | Property.SHAPE
            | Property.STRIDE
            | Property.DEVICE
            | Property.REQUIRES_GRAD
            | Property.IS_LEAF
        ):
            return [actual, *_compare_each_tensor(assertion, wrong, name)]
    assert_never(name)


def _compare_shared_memory(wrong: str) -> list[str]:
    """Which of the results lie in the memory of an earlier one; `wrong` begins the message."""
    message = f"{wrong} is {{shared[0]}} in eager, {{shared[1]}} compiled"
    return [
        "shared = []",
        "for values in (expected, actual):",
        "    memory = [",
        "        x.untyped_storage().data_ptr()",
        "        for x in values",
        "        if isinstance(x, torch.Tensor)",
        "    ]",
        "    shared.append([memory.index(address) for address in memory])",
        f'assert shared[0] == shared[1], f"{message}"',
    ]


def _compare_each_tensor(assertion: ReproAssertion, wrong: str, name: Property) -> list[str]:
    """An attribute of each tensor of the results; `wrong` begins the message."""
    access = ".stride()" if name == Property.STRIDE else f".{name}"
    message = f"{wrong} is {{e{access}}} in eager, {{a{access}}} compiled"
    message += _OUTPUT_SUFFIX if assertion.names_output else ""
    compared, more = access, ""
    if name == Property.STRIDE:  # as in `_strides_differ` of `collectors.call.comparison`
        compared, more = f".squeeze(){access}", " and e.numel()"
    return [
        _write_loop(assertion, "e, a", "expected, actual"),
        f"    if isinstance(e, torch.Tensor){more}:",
        f"        assert e{compared} == a{compared}, (",
        f'            f"{message}"',
        "        )",
    ]
