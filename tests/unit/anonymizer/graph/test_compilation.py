"""A function as the module that torch.export wants."""

from __future__ import annotations

import pytest

from anonymizer.graph.compilation import wrap_in_module
from anonymizer.graph.repro import FUNCTION_CALL, MODULE_CALL, ReproBody


def test_a_function_becomes_the_forward_of_a_module() -> None:
    body = ReproBody(
        "def repro(x, y):\n    return x + y", "repro", ("return (1, 2)",), FUNCTION_CALL
    )
    made = wrap_in_module(body)
    assert made.definitions.splitlines() == [
        "class Repro(torch.nn.Module):",
        "",
        "    def forward(self, x, y):",
        "        return x + y",
    ]
    assert (made.callable, made.convention.is_module, made.inputs) == ("Repro()", True, body.inputs)


def test_a_module_stays_as_it_is() -> None:
    body = ReproBody("class Repro(nn.Module):\n    pass", "Repro()", (), MODULE_CALL)
    assert wrap_in_module(body) is body


def test_what_is_no_function_of_the_program_cannot_be_exported() -> None:
    with pytest.raises(ValueError, match="no function of the program"):
        wrap_in_module(ReproBody("x = 1", "torch.relu", (), FUNCTION_CALL))
