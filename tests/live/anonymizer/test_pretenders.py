"""Models that pretend to be something else: never a private word, and never an equivalence that
does not hold.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.support.pretenders import CANARY, CASES
from tests.support.round_trips import rewriting


@pytest.mark.parametrize("case", CASES)
def test_a_pretender_is_rewritten_as_what_it_does(case: str) -> None:
    found = rewriting(lambda: (CASES[case](), (torch.randn(3, 4),)), True)
    assert found.trace["reasons"] == []
    assert found.same, (found.equivalence, found.text)
    said = found.text + json.dumps(found.equivalence) + json.dumps({**found.trace, "private": 0})
    assert not re.search(CANARY, said, re.IGNORECASE)


@pytest.mark.parametrize("name", ["gelu", "linear"])
def test_stock_layers_are_not_believed_where_torch_itself_was_changed(name: str) -> None:
    """In the private process both models would call the replacement, and be equal; elsewhere they
    are not.
    """

    def make() -> tuple[Any, ...]:
        original = getattr(F, name)

        def replaced(*args: Any, **kwargs: Any) -> Any:
            return original(*args, **kwargs) * 2

        setattr(F, name, replaced)
        return nn.Sequential(nn.Linear(4, 4), nn.GELU()), (torch.randn(3, 4),)

    found = rewriting(make)
    assert any("replaced" in reason for reason in found.trace["reasons"])
    assert found.equivalence.get("outcome") != "ok" or not found.same
