"""The divergence profile on calls whose faulty operation is known: the backend of the script is
what is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reporter.core.kinds import Backend
from reporter.diagnose.details.divergence import (
    DivergenceBudget,
    PrefixSettings,
    describe,
    find_divergence,
)
from reporter.recording.findings import Finding, Recording
from reporter.report.sections.details import DivergenceSection
from tests.support.recorded import record, recorded

Profiled = Callable[..., "DivergenceSection | None"]

RESULTS = PrefixSettings()


def measured(
    recording: Recording,
    settings: PrefixSettings = RESULTS,
    say: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> DivergenceSection | None:
    """The profile of a recording's first finding, or of the first with gradients."""
    assert recording.findings, recording.script.output

    def wanted(finding: Finding) -> bool:
        return bool(finding.grads) == settings.grads

    finding = next(filter(wanted, recording.findings))
    return find_divergence(finding, settings, DivergenceBudget(1200, 120, jobs=2), say, clock)


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    """A call whose middle is faulty."""
    with recorded("divergence/long", tmp_path_factory.mktemp("long")) as recording:
        yield recording


@pytest.fixture
def profiled(tmp_path: Path) -> Iterator[Profiled]:
    """Records a program and profiles its first finding."""
    recordings: list[Recording] = []

    def run(name: str, grads: bool = False) -> DivergenceSection | None:
        recordings.append(record(f"divergence/{name}", tmp_path))
        return measured(recordings[-1], PrefixSettings(grads))

    yield run
    for recording in recordings:
        recording.close()


def first_of(profile: DivergenceSection | None) -> str | None:
    assert profile is not None and profile.complete and profile.first is not None
    assert profile.points[-1].position < profile.of
    return profile.operator


def test_the_faulty_operation_is_found(long: Recording) -> None:
    assert first_of(measured(long)) == "torch.sigmoid"


def test_another_backend_may_stand_in(long: Recording) -> None:
    profile = measured(long, PrefixSettings(backend=Backend.EAGER))
    assert profile is not None and profile.first is None and profile.whole is False
    assert profile.complete and "agree" in describe(profile)


def test_without_time_the_profile_says_so(long: Recording) -> None:
    clock = [0.0]

    def pass_time(_: str) -> None:
        clock[0] += 1000

    profile = measured(long, clock=lambda: clock[0], say=pass_time)
    assert profile is not None and profile.points and not profile.complete


def test_gradients_part_at_the_operation_whose_backward_is_wrong(profiled: Profiled) -> None:
    profile = profiled("gradients", grads=True)
    assert first_of(profile) == "torch.sigmoid"
    assert profile is not None and profile.grads and "gradients" in describe(profile)


def test_an_assignment_to_a_part_of_a_tensor_is_an_operation_too(profiled: Profiled) -> None:
    assert first_of(profiled("item_assignment")) == "operator.setitem"


def test_a_fault_on_a_branch_is_not_cleared_by_another_branch(profiled: Profiled) -> None:
    assert first_of(profiled("two_branches")) == "torch.sigmoid"


def test_the_graph_that_differs_is_profiled_of_several(profiled: Profiled) -> None:
    profile = profiled("two_graphs")
    assert first_of(profile) == "torch.sigmoid"
    assert profile is not None and profile.first == 0 and profile.of == 2


def test_inputs_that_the_graph_changes_are_put_back(profiled: Profiled) -> None:
    profile = profiled("changed_inputs")
    assert first_of(profile) == "torch.sigmoid"
    assert profile is not None and [p.position for p in profile.points if not p.same] == [
        profile.of - 1
    ]


def test_random_numbers_are_the_same_for_all(profiled: Profiled) -> None:
    assert first_of(profiled("random_numbers")) == "torch.sigmoid"


def test_a_cut_inside_an_autocast_region_closes_it(profiled: Profiled) -> None:
    profile = profiled("autocast")
    assert first_of(profile) == "torch.sigmoid"
    assert profile is not None and profile.failed == 0


def test_a_prefix_that_ends_its_process_loses_no_other(profiled: Profiled) -> None:
    profile = profiled("deadly")
    assert profile is not None and profile.operator == "torch.sigmoid"
    assert profile.failed == 3 and not profile.complete
    assert {p.operator for p in profile.points} == {"operator.neg", "torch.sigmoid", "Tensor.cos"}


def test_names_of_the_program_do_not_enter_the_profile(profiled: Profiled) -> None:
    profile = profiled("private_names")
    assert profile is not None
    assert [p.operator for p in profile.points] == ["torch.nn.functional.linear", "torch.sigmoid"]
    shown = str(profile.to_json()) + describe(profile)
    assert "bonus" not in shown and "Salary" not in shown and "alary" not in shown
