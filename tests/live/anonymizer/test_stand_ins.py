"""Operations that nobody can look into get stand-ins; the rest of the model is proved with the
private ones in their place.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from anonymizer.graph.ir import TensorMeta
from anonymizer.model.stand_ins import write_stand_in
from tests.support import interpreter
from tests.support.places import ROOT
from tests.support.round_trips import rewriting
from tests.support.scripts import script

_libraries = itertools.count()


def meta(tensor: torch.Tensor, requires_grad: bool = False) -> TensorMeta:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return TensorMeta(tuple(tensor.shape), dtype, tensor.stride(), "cpu", requires_grad)


_FLOAT, _HALF = torch.randn(3, 4), torch.randn(3, 4).bfloat16()
_COUNTS, _MASK = torch.randint(0, 9, (3, 4)), torch.rand(3, 4) > 0.5


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize(
    "given, results",
    [
        ([_FLOAT], _FLOAT),
        ([_FLOAT, _FLOAT, _HALF], _HALF),
        ([_FLOAT.t(), _FLOAT.t()], _FLOAT.t()),
        ([_FLOAT.t()], torch.randn(4, 3)),
        ([_FLOAT], (_FLOAT, torch.randn(7), torch.randn(()))),
        ([_COUNTS], _MASK),
        ([_MASK, _FLOAT], torch.randn(5, 2).t().bfloat16()),
        ([_FLOAT], torch.randn(2, 6)[:, ::2]),
        ([], torch.randn(2)),
        ([torch.randn(2) for _ in range(6)], (torch.randn(2, dtype=torch.float64),)),
    ],
)
def test_a_stand_in_gives_what_the_operation_gave(
    given: Any, results: Any, registered: bool
) -> None:
    shapes = tuple(map(meta, results)) if isinstance(results, tuple) else meta(results)
    if registered and not given:
        registered = False  # an operator without tensors cannot be dispatched
    text = "\n".join(
        write_stand_in("made", "a custom operator", list(map(meta, given)), shapes, (), registered)
    )
    space: dict[str, Any] = {"torch": torch}
    exec(text.replace("repro::", f"stand_in_{next(_libraries)}::"), space)
    found = space["made"](*given)
    expected = results if isinstance(results, tuple) else (results,)
    for one, other in zip(expected, found if isinstance(found, tuple) else (found,), strict=True):
        assert meta(one) == meta(other)


def test_a_stand_in_changes_the_arguments_that_were_changed() -> None:
    text = write_stand_in(
        "made", "a Triton kernel", [meta(_FLOAT), meta(_FLOAT), meta(_HALF)], None, (2,)
    )
    space: dict[str, Any] = {"torch": torch}
    exec("\n".join(text), space)
    out = torch.zeros_like(_HALF)
    assert space["made"](_FLOAT, _FLOAT, out) is None
    assert out.any()


def _library(body: Any, schema: str) -> Any:
    """An operator that is registered with the dispatcher, as C++ extensions do it: there is nothing
    to look into.
    """
    name = f"zorblax{next(_libraries)}"
    library = torch.library.Library(name, "DEF")
    library.define(f"operate{schema}")
    library.impl("operate", body, "CPU")
    return getattr(torch.ops, name).operate, library


def _scaled() -> tuple[Any, ...]:
    operate, library = _library(lambda x, n: x * n + 1, "(Tensor x, int n) -> Tensor")
    return (lambda x, kept=library: operate(x, 3).sin()), (torch.randn(4),)


def _several() -> tuple[Any, ...]:
    operate, library = _library(
        lambda x, y: (x.sum(1), y.t() * 2), "(Tensor x, Tensor y) -> (Tensor, Tensor)"
    )

    def function(x: torch.Tensor, kept: Any = library) -> Any:
        for _ in range(3):
            low, high = operate(x, x)
            x = high.t().cos() + low[:, None]
        return x

    return function, (torch.randn(3, 5),)


def _in_place() -> tuple[Any, ...]:
    operate, library = _library(
        lambda x, out: (out.copy_(x.exp()), None)[1], "(Tensor x, Tensor(a!) out) -> ()"
    )

    class Zorb(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Any, kept: Any = library) -> Any:
            with torch.no_grad():
                x = self.first(x)
                out = torch.empty_like(x)
                operate(x, out)
            return self.last(out)

    return Zorb(), (torch.randn(3, 4),)


@pytest.mark.parametrize(
    "make",
    [_in_place, _scaled, _several],
)
def test_the_rest_is_the_same_with_the_private_operation_in_place(make: Any) -> None:
    found = rewriting(make)
    assert found.trace["reasons"] == ["a custom operator"]
    assert found.same, (found.equivalence, found.text)
    assert "def operator1(" in found.text and "Stands for a custom operator" in found.text
    assert not re.search("zorb", found.text, re.IGNORECASE)


@pytest.mark.triton
def test_a_triton_kernel_gets_a_stand_in(tmp_path: Path) -> None:
    done = subprocess.run(
        [interpreter.COLD, script("stand_ins/triton_kernel"), ROOT],
        env={**os.environ, "TRITON_INTERPRET": "1"},  # read when Triton is imported
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
