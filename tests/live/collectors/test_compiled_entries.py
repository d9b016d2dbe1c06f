"""What torch.compile wraps in one of its ways is gathered as the module that it is."""

from __future__ import annotations

import collections
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import pytest
import torch
from torch import nn

from anonymizer.graph.repro import ReproAssertion
from anonymizer.harness.text import render_harness
from anonymizer.kinds import Kind
from anonymizer.source.rewriting import rebuild
from collectors.call import undefined_writes
from collectors.call.history import forget
from collectors.protocol.repro_words import Property
from collectors.source import provenance, source
from collectors.source.introspection import find_original
from reporter.reduce.source_candidates import RewrittenProgram

WORDS = {"relu", "append", "squeeze"}


class Kept(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = collections.deque([1.0], maxlen=3)

    def forward(self, x: torch.Tensor, by: Any = 2.0) -> torch.Tensor:
        self.last.append(2.0)
        return torch.relu(x) * by


def text(entry: Any, *args: Any) -> str:
    program = rebuild(source.gather(find_original(entry), args, {}), WORDS)
    return "\n".join(
        [program.write_definitions(), *program.write_inputs(), program.callable_expression]
    )


@pytest.mark.parametrize(
    "way", ["whole", "module.compile()", "bound method", "method in its place", "call"]
)
def test_the_entry_is_the_module(way: str) -> None:
    module = Kept()
    entry: Any = module
    if way == "module.compile()":
        module.compile(backend="eager")
        entry = module._compiled_call_impl
    elif way == "bound method":
        entry = torch.compile(module.forward, backend="eager")
    elif way == "method in its place":
        entry = torch.compile(module.forward, backend="eager")
        module.forward = entry  # type: ignore[method-assign]
    elif way == "call":
        entry = torch.compile(module.__call__, backend="eager")
    made = text(entry, torch.ones(2))
    assert "def forward(self, arg1" in made and made.rstrip().endswith("Repro()")
    assert "collections.deque([1.0], maxlen=3)" in made


def test_a_scalar_of_numpy_is_one_in_the_program() -> None:
    made = text(Kept(), torch.ones(2), numpy.float64(1.5))
    assert "numpy.float64(1.5)" in made


def test_an_array_of_numpy_is_one_in_the_program() -> None:
    rates = {84713000: 0.5}

    def duty(counts: Any, code: int) -> Any:
        return numpy.cumsum(numpy.sqrt(counts) / 2) * rates[code]

    counts = numpy.array([7, 90, 15], dtype=numpy.int8)
    gathered = source.gather(duty, (counts, 84713000), {})
    assert gathered["problems"] == []
    body = RewrittenProgram(rebuild(gathered, WORDS)).build_body()
    assert "numpy.cumsum(numpy.sqrt(arg1) / 2)" in body.definitions
    assert "dtype=torch.int8).numpy()" in "".join(body.inputs)
    text = render_harness(body, ReproAssertion(Kind.WRONG_METADATA, property=Property.DTYPE))
    names: dict[str, Any] = {"__name__": "repro"}
    exec(text, names)
    with pytest.raises(AssertionError, match="dtype is torch.float"):
        names["main"]()
    strings = source.gather(duty, (numpy.array(["a"]), 1), {})
    assert strings["problems"] == ["an array of NumPy that is no tensor"]


def test_what_inductor_generates_is_none_of_the_programs_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch._inductor.runtime.compile_tasks.c123", "kestrel"):
        module = ModuleType(name)
        module.__file__ = str(tmp_path / f"{name}.py")
        Path(module.__file__).write_text("x = 1\n")
        monkeypatch.setitem(sys.modules, name, module)
    found = [path for path in provenance.list_own_files() if path.startswith(str(tmp_path))]
    assert found == [str(tmp_path / "kestrel.py")]


def test_objects_of_earlier_calls_are_none_of_the_program() -> None:
    def of(*calls: Any) -> int:
        history = [((forget(x), by), {}) for x, by in calls]
        gathered = source.gather(Kept(), (torch.ones(2), 2.0), {}, history=history)
        return len(gathered["earlier"])

    assert of((torch.ones(3), 1.5), (torch.ones(4), [1, numpy.float64(2.0)])) == 2
    assert of((torch.ones(3), Kept()), (torch.ones(3), object())) == 0


@pytest.mark.parametrize("name", ["_c10d_functional.wait_tensor", "aten.add_", "prims.copy_to"])
def test_operators_of_torch_declare_what_they_write(name: str) -> None:
    space, operator = name.split(".")
    packet = getattr(getattr(torch.ops, space), operator)
    first = getattr(packet, packet.overloads()[0])
    assert undefined_writes.copy_unnamed(first, (torch.ones(2), torch.ones(2)), {}) == {}
