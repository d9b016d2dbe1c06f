"""Under which name a function of torch is written."""

from __future__ import annotations

import math
import types

import torch

from collectors.machine.public_names import collect_public_names, list_callables


def test_a_function_has_its_own_name_before_another_one() -> None:
    module = types.SimpleNamespace(candidate=math.sqrt, sqrt=math.sqrt, pi=math.pi, zoo=math.sin)
    assert list_callables(module) == [
        ("sqrt", math.sqrt),
        ("candidate", math.sqrt),
        ("zoo", math.sin),
    ]


def test_common_functions_have_the_names_that_people_write() -> None:
    names = collect_public_names()
    for name in ("zeros_like", "relu", "cat", "where"):
        assert names[id(getattr(torch, name))] == f"torch.{name}"
