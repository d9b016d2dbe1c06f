"""The plain form of a reduced program, asked of real workers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from anonymizer.graph.repro import FUNCTION_CALL, MODULE_CALL, ReproAssertion, ReproBody
from anonymizer.harness.text import render_harness
from reporter.core.candidate import Candidate, find_failure, make_matcher
from reporter.core.formatting import format_program
from reporter.core.kinds import Kind
from reporter.core.signature import Signature
from reporter.execution.control import needs_control, run_control
from reporter.execution.fresh_process import run_cold
from reporter.execution.worker_pool import WorkerPool
from reporter.verify.plain import PlainSearch
from tests.support import interpreter

#: The repro's own backend: what it compiles is one off, or two where it has seen the sizes before.
OFF_BY_ONE = "def custom_backend(gm, example_inputs):\n    return lambda *args: [gm(*args)[0] + 1]"
BACKEND = (("backend", "custom_backend"),)


@dataclass(frozen=True)
class Program:
    """The body of a repro, as a content of a candidate."""

    written: ReproBody

    def build_body(self) -> ReproBody:
        return self.written


def candidate(definitions: str, inputs: str, assertion: ReproAssertion) -> Candidate:
    name = "Repro()" if "class Repro" in definitions else "repro"
    convention = MODULE_CALL if name == "Repro()" else FUNCTION_CALL
    body = ReproBody(definitions, name, (f"return ({inputs},)",), convention)
    return Candidate(Program(body), assertion)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    folder = tmp_path_factory.mktemp("workers")
    with WorkerPool(Path(interpreter.WARM), 2, dict(os.environ), folder) as made:
        yield made


def find(pool: WorkerPool, made: Candidate, wanted: Signature) -> str | None:
    found = PlainSearch(pool, make_matcher(wanted)).find(made.build_parts(), made.draws)
    return found.text.partition("return lambda")[2].partition("\n\n\n")[2] if found else None


WRONG = Signature(Kind.WRONG_RESULT)
VALUES = ReproAssertion("wrong_result", BACKEND, prelude=OFF_BY_ONE)


def test_wrong_values_are_one_comparison_on_readable_inputs(pool: WorkerPool) -> None:
    text = find(
        pool, candidate("def repro(x):\n    return x.cos()", "torch.randn(2)", VALUES), WRONG
    )
    assert text == (
        "def fn(x):\n    return x.cos()\n\n\nx = torch.ones(1)\n"
        "torch.testing.assert_close(torch.compile(fn, backend=custom_backend)(x), fn(x))\n"
    )


def test_what_is_wrong_for_some_values_only_keeps_random_ones(pool: WorkerPool) -> None:
    late = OFF_BY_ONE.replace("+ 1]", "+ (args[-1] * 2 % 1 > 0).float()]")
    assertion = replace(VALUES, prelude=late)
    text = find(
        pool, candidate("def repro(x):\n    return x.cos()", "torch.rand(2)", assertion), WRONG
    )
    assert text is not None and "torch.manual_seed(0)\nx = torch.rand(2)\n" in text


@pytest.mark.parametrize(("condition", "seeds"), [("x * 64 % 1 > 0", 0), ("x == seeded", 1)])
def test_a_crash_has_a_seed_where_it_hangs_on_the_values_drawn(
    condition: str, seeds: int, pool: WorkerPool
) -> None:
    refusing = (
        "def custom_backend(gm, example_inputs):\n"
        "    seeded = torch.rand(2, generator=torch.Generator().manual_seed(0))\n"
        "    def call(x):\n"
        f"        if ({condition}).any():\n"
        "            raise KeyError('fractions')\n"
        "        return gm(x)\n"
        "    return call"
    )
    assertion = ReproAssertion("crash", BACKEND, prelude=refusing)
    made = candidate("def repro(x):\n    return x.cos()", "torch.rand(2)", assertion)
    shown = run_cold(Path(interpreter.WARM), format_program(made.render()), 120, describe=True)
    wanted = find_failure(shown)
    assert wanted is not None and wanted.exception == "KeyError"
    found = PlainSearch(pool, make_matcher(wanted)).find(made.build_parts(), made.draws)
    assert found is not None and found.text.count("torch.rand(") == 2
    assert found.text.count("torch.manual_seed(0)") == seeds


def test_a_program_that_draws_gets_the_same_numbers_twice_and_no_seed_before(
    pool: WorkerPool,
) -> None:
    made = candidate("def repro(x):\n    return x + torch.rand(2)", "torch.ones(2)", VALUES)
    text = find(pool, made, WRONG)
    assert text is not None and text.count("torch.manual_seed(0)") == 2


def test_a_program_that_writes_to_its_input_gets_copies(pool: WorkerPool) -> None:
    made = candidate("def repro(x):\n    return x.add_(1)", "torch.ones(2)", VALUES)
    text = find(pool, made, WRONG)
    assert text is not None and "expected = fn(x.clone())" in text


def test_values_that_nobody_wrote_are_not_compared(pool: WorkerPool) -> None:
    one_row = OFF_BY_ONE.replace("[0] + 1]", "[0][:1]]")
    assertion = ReproAssertion("wrong_metadata", BACKEND, prelude=one_row, property="shape")
    wanted = Signature(Kind.WRONG_METADATA, property="shape")
    made = candidate(
        "def repro(x):\n    return torch.empty(x.size())", "torch.rand(2, 3)", assertion
    )
    text = find(pool, made, wanted)
    assert text is not None and "assert_close" not in text and ".shape" in text
    written = candidate("def repro(x):\n    return x + 1", "torch.rand(2, 3)", assertion)
    assert "assert_close" in (find(pool, written, wanted) or "")


def test_a_tolerance_that_eager_does_not_keep_is_none(pool: WorkerPool) -> None:
    """What rounds in eager mode too is compared with float64, not within a tolerance."""
    rough = "def repro(x):\n    return (x + 1e7) - 1e7"
    text = find(pool, candidate(rough, "torch.full((2,), 0.3)", VALUES), WRONG)
    assert text is None or "exact = fn(" in text


def test_gradients_are_compared_after_backward(pool: WorkerPool) -> None:
    doubled = "def custom_backend(gm, example_inputs):\n    return lambda *args: [gm(*args)[0] * 2]"
    assertion = ReproAssertion("wrong_gradient", BACKEND, backward="sum", prelude=doubled)
    made = candidate("def repro(x):\n    return x * x", "torch.ones(2).requires_grad_()", assertion)
    text = find(pool, made, Signature(Kind.WRONG_GRADIENT))
    assert text is not None and ".sum().backward()\nexpected, x.grad = x.grad, None\n" in text


#: Its first output has a gradient, where eager mode gives none.
LEAKY = """def custom_backend(gm, example_inputs):
    def call(x, y):
        with torch.enable_grad():
            return [x * 3, gm(x, y)[1]]
    return call"""


def test_a_gradient_that_eager_has_not_is_held_against_zero(pool: WorkerPool) -> None:
    assertion = ReproAssertion("wrong_gradient", BACKEND, backward="randn", prelude=LEAKY)
    definitions = (
        "def repro(x, y):\n    torch.set_grad_enabled(False)\n    z = x.cos()\n"
        "    torch.set_grad_enabled(True)\n    return (z, y * y)"
    )
    inputs = "torch.ones(2).requires_grad_(), torch.ones(2).requires_grad_()"
    parts = candidate(definitions, inputs, assertion).build_parts()
    search = PlainSearch(pool, make_matcher(Signature(Kind.WRONG_GRADIENT)))
    restored = search.restore_modes(parts)
    assert "with torch.no_grad():\n        z = x.cos()\n    return" in restored[0].definitions
    assert "set_grad_enabled" not in format_program(render_harness(*restored))
    found = search.find(restored, False)
    assert found is not None and "(x, y), tangents, materialize_grads=True)" in found.text


def test_a_mode_that_has_to_stay_switched_does(pool: WorkerPool) -> None:
    raises = "def custom_backend(gm, example_inputs):\n    raise KeyError('cos')"
    definitions = "def repro(x):\n    torch.set_grad_enabled(False)\n    return x.cos()"
    assertion = ReproAssertion("crash", BACKEND, prelude=raises)
    parts = candidate(definitions, "torch.ones(2)", assertion).build_parts()
    search = PlainSearch(pool, lambda answer: False)
    assert search.restore_modes(parts) == parts


RAISES = "def custom_backend(gm, example_inputs):\n    raise KeyError('cos')"


def test_a_crash_is_the_call_alone_and_passes_its_control_run(pool: WorkerPool) -> None:
    assertion = ReproAssertion("crash", BACKEND, prelude=RAISES)
    made = candidate("def repro(x):\n    return x.cos()", "torch.randn(2)", assertion)
    python = Path(interpreter.WARM)
    wanted = find_failure(run_cold(python, format_program(made.render()), 120, describe=True))
    assert wanted is not None
    found = PlainSearch(pool, make_matcher(wanted)).find(made.build_parts(), made.draws)
    assert found is not None and found.text.endswith(
        "torch.compile(fn, backend=custom_backend)(torch.ones(1))\n"
    )
    assert needs_control(found.text) and not needs_control(found.harness)
    assert run_cold(python, found.text, 120).outcome == "fails"
    assert run_control(python, found.text, 120).outcome == "passes"


def test_what_fails_without_the_compiler_has_no_plain_form(pool: WorkerPool) -> None:
    assertion = ReproAssertion("crash", BACKEND, prelude=RAISES)
    made = candidate("def repro(x):\n    raise KeyError('cos')", "torch.randn(2)", assertion)
    assert find(pool, made, Signature(Kind.CRASH, exception="KeyError", message="'cos'")) is None


def test_an_error_that_is_lost_is_asked_for(pool: WorkerPool) -> None:
    lenient = "def custom_backend(gm, example_inputs):\n    return lambda *args: [args[0]]"
    refused = "def repro(x):\n    return torch.addmm(x, x, x)"
    assertion = ReproAssertion("accepts_invalid", BACKEND, prelude=lenient)
    made = candidate(refused, "torch.ones(2)", assertion)
    assert find(pool, made, Signature(Kind.ACCEPTS_INVALID)) is None  # Dynamo refuses it too


def test_a_derivative_keeps_what_makes_the_triangle_that_is_read(pool: WorkerPool) -> None:
    """The factors of this tangent are in the wrong order in torch 2.13."""
    assertion = ReproAssertion("wrong_gradient", backward="forward", compiler="eager")
    definitions = "def repro(x):\n    return torch.cholesky_inverse(x.tril())"
    inputs = "torch.randn(3, 3, dtype=torch.float64).requires_grad_()"
    made = candidate(definitions, inputs, assertion)
    parts = made.build_parts()
    found = PlainSearch(pool, make_matcher(Signature(Kind.WRONG_GRADIENT))).find(parts, made.draws)
    assert found is not None and "return torch.cholesky_inverse(x.tril())" in found.text


def test_a_value_that_eager_refuses_is_that_of_the_input(pool: WorkerPool) -> None:
    """The decomposition of torch 2.13 takes targets that are no probabilities."""
    definitions = "def repro(x, y):\n    return F.binary_cross_entropy(y, x * 2.0)"
    made = candidate(definitions, "torch.rand(2), torch.rand(2)", ReproAssertion("accepts_invalid"))
    found = PlainSearch(pool, make_matcher(Signature(Kind.ACCEPTS_INVALID))).find(
        made.build_parts(), made.draws
    )
    assert found is not None and "return F.binary_cross_entropy(y, x)" in found.text
    assert "torch.compile(fn)(torch.tensor([2.0]), torch.ones(1))" in found.text


def test_what_eager_refuses_is_still_read_by_the_program(pool: WorkerPool) -> None:
    """An operator that nobody reads is left out by AOTAutograd, and its error with it."""
    definitions = "def repro(x):\n    v0 = torch.as_strided(x, (4, 2), (4, 1))\n    return v0 * 0.5"
    made = candidate(definitions, "torch.rand(1)", ReproAssertion("accepts_invalid"))
    wanted = make_matcher(Signature(Kind.ACCEPTS_INVALID))
    found = PlainSearch(pool, wanted).find(made.build_parts(), made.draws)
    assert found is not None and "* 0.5" in found.text


LEVEL = """\
import io
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("level", torch.ones(1))

    def forward(self):
        self.level = 0.9 * self.level
        return self.level.sqrt()

def reload(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    return torch.export.load(file)

program = torch.export.export(Model(), ())
package = torch._inductor.aoti_compile_and_package(program)
for made in (
    torch._inductor.aoti_load_package(package),
    torch.export.unflatten(program),
    reload(program).module(),
):
    model = Model()
    for _ in range(2):
        torch.testing.assert_close(made(), model())
    assert program.module().level == 1
"""


def test_in_a_control_run_what_is_loaded_has_buffers_of_its_own() -> None:
    answer = run_control(Path(interpreter.WARM), LEVEL, 120)
    assert answer.outcome == "passes", answer.stderr
