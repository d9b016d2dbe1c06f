"""Whole scripts, rewritten and run: they fail where the script does, not without the compiler."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from anonymizer.graph.repro import ReproAssertion
from reporter.core.candidate import Candidate, make_matcher
from reporter.core.kinds import Kind
from reporter.core.signature import Signature
from reporter.execution.control import WITHOUT_COMPILER
from reporter.execution.worker_pool import WorkerPool
from reporter.verify.plain import PlainSearch
from tests.support import interpreter
from tests.unit.anonymizer.source.script.test_public_script import rebuild

REPLACED_CODE = """
    import torch

    def gentle(self, tide):
        return tide * 2

    def strong(self, tide):
        return tide * 9

    class Gauge:
        rate = gentle

    gauge = Gauge()

    def settle(tide):
        return gauge.rate(tide)

    tide = torch.arange(1.0, 4.0)
    fast = torch.compile(settle, backend="eager")
    print(fast(tide))
    Gauge.rate.__code__ = strong.__code__
    print(fast(tide))  # fails
    """
ADDED_HOOK = """
    import torch
    from torch import nn

    def damp(module, given):
        return tuple(each * 0.01 for each in given)

    def main():
        gauge = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
        fast = torch.compile(gauge)
        fast(torch.randn(4, 3, requires_grad=True)).sum().backward()
        gauge[1].register_full_backward_pre_hook(damp)
        tide = torch.randn(4, 3, requires_grad=True)
        height = fast(tide)  # fails
        height.sum().backward()

    main()  # main
    """
PRETENDED_ITEMS = """
    import torch

    class Crew(set):
        def __iter__(self):
            return iter([99])

    def same_crew(here, there):
        return here == there

    print(torch.compile(same_crew, backend="eager")({1, 2}, Crew({1, 2})))  # fails
    """
STALE = ReproAssertion(Kind.STALE_GRAPH, (("backend", "'eager'"),), double=False)
STALE_GRADIENT = ReproAssertion(
    Kind.STALE_GRAPH, (("backend", "'aot_eager'"),), backward="sum", double=False
)
OTHER_VALUE = ReproAssertion(
    Kind.WRONG_METADATA,
    (("backend", "'eager'"), ("fullgraph", "True")),
    property="python value",
    double=False,
)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    folder = tmp_path_factory.mktemp("workers")
    with WorkerPool(Path(interpreter.WARM), 2, dict(os.environ), folder) as made:
        yield made


@pytest.mark.parametrize(
    "text, assertion, inside, compared",
    [
        (REPLACED_CODE, STALE, [], "torch.testing.assert_close(compiled(x), fn(x))"),
        (ADDED_HOOK, STALE_GRADIENT, ["main"], "torch.testing.assert_close(x.grad, expected)"),
        (PRETENDED_ITEMS, OTHER_VALUE, [], "assert actual == expected, (actual, expected)"),
    ],
    ids=["replaced code", "added hook", "pretended items"],
)
def test_a_rewritten_script_fails_as_the_script_does(
    pool: WorkerPool, text: str, assertion: ReproAssertion, inside: list[str], compared: str
) -> None:
    made = Candidate(rebuild(text, inside=inside), assertion)
    shows = make_matcher(Signature(assertion.kind, property=assertion.property))
    assert shows(pool.submit(made.render()).result())
    control = pool.submit(made.render(), overrides=WITHOUT_COMPILER).result()
    assert control.passed
    plain = PlainSearch(pool, shows).find(made.build_parts(), made.draws)
    assert plain is not None and compared.split("(")[0] in plain.text
    assert "def program" not in plain.text and "def run" not in plain.text
