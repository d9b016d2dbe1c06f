"""The inputs of a whole model that is called with other sizes again."""

from __future__ import annotations

from anonymizer.graph.ir import Recipe, TensorMeta
from anonymizer.model.inputs import name_varying_sizes
from anonymizer.trace.tree import GivenTensor


def test_each_size_that_varies_has_a_name_of_its_own() -> None:
    meta = TensorMeta(tuple(range(20, 29)), "float32")
    given = GivenTensor("x", "input", meta, Recipe("randn"), earlier=(tuple(range(2, 11)),))
    sizes, calls = name_varying_sizes([given])
    names = [name for name, _ in sizes.values()]
    assert names == [*"nmkhlpq", "n2", "m2"]
    assert calls == (tuple(zip(names, range(2, 11))), tuple(zip(names, range(20, 29))))
