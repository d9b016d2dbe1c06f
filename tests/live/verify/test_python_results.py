"""Results that are no tensors, such as sizes and strides, in the harness and in a plain form."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from anonymizer.graph.repro import ReproAssertion, ReproBody
from collectors.protocol.repro_words import Property
from reporter.core.candidate import Candidate, make_matcher
from reporter.core.kinds import Kind
from reporter.core.signature import Signature
from reporter.execution.worker_pool import WorkerPool
from reporter.verify.plain import PlainSearch
from tests.support import interpreter


@dataclass(frozen=True)
class _Function:
    """A function of one tensor."""

    returned: str

    def build_body(self) -> ReproBody:
        definitions = f"def repro(x):\n    return {self.returned}"
        return ReproBody(definitions, "repro", ("return (torch.randn(4, 8),)",))


def _candidate(returned: str, differs: Property) -> Candidate:
    arguments = (("backend", "'eager'"),)
    assertion = ReproAssertion(Kind.WRONG_METADATA, arguments, property=differs, double=False)
    return Candidate(_Function(returned), assertion)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    folder = tmp_path_factory.mktemp("workers")
    with WorkerPool(Path(interpreter.WARM), 2, dict(os.environ), folder) as made:
        yield made


# torch 2.13.0 takes the sizes that `torch.Tensor` is given for its values
@pytest.mark.parametrize(
    ("returned", "differs"),
    [
        ("torch.Tensor(x.size()).shape", Property.PYTHON_VALUE),
        ("x, torch.Tensor(x.size()).shape", Property.PYTHON_VALUE),
        ("x, (x, torch.Tensor(x.size()).dim())", Property.PYTHON_VALUE),
        ("[x] * torch.Tensor(x.size()).dim()", Property.STRUCTURE),
        ("x, [x] * torch.Tensor(x.size()).dim()", Property.STRUCTURE),
    ],
)
def test_what_is_no_tensor_is_compared_wherever_it_stands(
    pool: WorkerPool, returned: str, differs: Property
) -> None:
    candidate = _candidate(returned, differs)
    shows = make_matcher(Signature(Kind.WRONG_METADATA, property=differs))
    answer = pool.submit(candidate.render()).result()
    assert shows(answer), answer


@pytest.mark.parametrize("differs", [Property.PYTHON_VALUE, Property.TYPE, Property.STRUCTURE])
def test_what_is_right_passes(pool: WorkerPool, differs: Property) -> None:
    right = _candidate("x.t(), (x, x.stride()), [x.shape, x.dim()]", differs)
    assert pool.submit(right.render()).result().passed


def test_sizes_in_a_tuple_have_a_plain_form(pool: WorkerPool) -> None:
    candidate = _candidate("x, torch.Tensor(x.size()).shape", Property.PYTHON_VALUE)
    shows = make_matcher(Signature(Kind.WRONG_METADATA, property=Property.PYTHON_VALUE))
    plain = PlainSearch(pool, shows).find(candidate.build_parts(), candidate.draws)
    assert plain is not None and "assert actual == expected" in plain.text
    assert "torch.ones(1, 1)" in plain.text
