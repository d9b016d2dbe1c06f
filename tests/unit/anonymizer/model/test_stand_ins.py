"""What no stand-in may stand for."""

from __future__ import annotations

import pytest

from anonymizer.graph.expressions import NotPublicError
from anonymizer.graph.ir import TensorMeta
from anonymizer.model.stand_ins import write_stand_in


def test_what_has_a_gradient_of_its_own_is_not_registered() -> None:
    plain = TensorMeta((3, 4), "float32", (4, 1), "cpu")
    trained = TensorMeta((3, 4), "float32", (4, 1), "cpu", True)
    with pytest.raises(NotPublicError):
        write_stand_in("made", "a custom operator", [plain], trained, (), True)
