"""A faulty decomposition of torch's is named as the culprit, in the recorded call and in a
repro.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from collectors.protocol.failure import Failure
from collectors.protocol.variation import Rung
from reporter.core.json_values import Json
from reporter.core.kinds import Backend, Kind, Layer
from reporter.core.signature import Signature, sign_assertion
from reporter.diagnose.details.culprit import (
    SearchBudget,
    SuspectedBug,
    find,
    list_changeable_settings,
)
from reporter.diagnose.details.experiment import (
    SupportedVariations,
    Variation,
    ask_supported_variations,
    judge_run,
    make_call_experiment,
    make_pool_experiment,
)
from reporter.diagnose.details.workaround import try_on_call
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.judge import judge
from reporter.execution.worker_pool import WorkerPool, WorkerSettings
from reporter.recording import questions
from tests.support import interpreter
from tests.support.recorded import recorded
from tests.support.scripts import text

FAULTY = "culprit/faulty_decomposition"
SPEC = {"backend": "aot_eager_decomp_partition", "subsystem": "decomposition"}
#: Seconds for one run and for a whole search; none of them counts on a quiet machine.
RUN, SEARCH = 120.0, 1200.0
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Diagnosis]:
    with recorded(FAULTY, tmp_path_factory.mktemp("culprit")) as recording:
        yield judge(recording, RUN, lambda _: None)


def ask(diagnosis: Diagnosis, **rung: object) -> Json:
    assert diagnosis.basis.finding is not None
    call_session = diagnosis.basis.finding.call_session
    path = str(call_session.folder / f"ask-{next(_NUMBERS)}.pt")
    wanted = cast(Rung, {"how": "compiled", "snapshot": path, **rung})
    return {**call_session.request(questions.run(wanted), RUN)}


def test_a_faulty_decomposition_is_named(diagnosis: Diagnosis) -> None:
    assert (diagnosis.kind, diagnosis.layer) == ("wrong_result", "decomposition")
    assert diagnosis.basis.finding is not None
    names = list_changeable_settings(diagnosis.layer)
    supported = ask_supported_variations(diagnosis.basis.finding.call_session, names, RUN)
    experiment = make_call_experiment(diagnosis, RUN)
    workarounds: list[Variation] = []
    culprit = find(
        experiment,
        SuspectedBug(diagnosis.layer, diagnosis.kind, "cpu"),
        SearchBudget(SEARCH, 2),
        supported=supported,
        on_workaround=workarounds.append,
    )
    assert culprit.subsystem == "aot_eager_decomp_partition/decomposition"
    assert culprit.exact and culprit.operator == "aten.hardswish.default"
    assert culprit.application is not None and culprit.of is not None
    assert culprit.application <= culprit.of
    assert culprit.workaround == (
        "torch._inductor.decomposition.decompositions.pop(torch.ops.aten.hardswish.default)",
    )
    assert culprit.confirmed
    assert "zebra" not in str(culprit) and "giraffe" not in str(culprit)
    (workaround,) = workarounds
    tried = try_on_call(workaround, diagnosis, RUN)
    assert tried is not None and tried.is_right
    assert tried.relative_time is not None and tried.relative_time > 0
    other = try_on_call(replace(workaround, undecomposed=()), diagnosis, RUN)
    assert other is not None and not other.is_right


def test_a_repro_names_the_same_culprit(tmp_path: Path) -> None:
    wanted = sign_assertion("wrong result: eager is off by 0.0, compiled by 1.0")
    assert wanted is not None
    supported = SupportedVariations(((SPEC["backend"], SPEC["subsystem"]),), {})
    with WorkerPool(
        interpreter.WARM, 2, dict(os.environ), tmp_path, WorkerSettings("eager")
    ) as pool:
        experiment = make_pool_experiment(pool, text(FAULTY), wanted)
        culprit = find(
            experiment,
            SuspectedBug(Layer.DECOMPOSITION, Kind.WRONG_RESULT, "cpu"),
            SearchBudget(SEARCH, 2),
            supported=supported,
        )
    assert culprit.stable
    assert culprit.operator == "aten.hardswish.default" and culprit.exact


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        # pytorch/pytorch#187018
        pytest.param("abs_summed", "abs", marks=pytest.mark.slow),
        pytest.param("abs_as_float", "abs", marks=pytest.mark.slow),
        pytest.param("abs_compared", "abs", marks=pytest.mark.slow),
        pytest.param("sign_summed", "sign", marks=pytest.mark.slow),
        pytest.param("sign_as_float", "sign", marks=pytest.mark.slow),
    ],
)
def test_the_operator_whose_values_are_wrong_is_named_not_the_one_that_reads_them(
    tmp_path: Path, name: str, operator: str
) -> None:
    wanted = sign_assertion("wrong result: max abs error 1 against eager")
    assert wanted is not None
    supported = SupportedVariations((("inductor", "lowerings"),), {})
    settings = WorkerSettings("inductor")
    with WorkerPool(interpreter.WARM, 2, dict(os.environ), tmp_path, settings) as pool:
        experiment = make_pool_experiment(pool, text(f"culprit/unsigned/{name}"), wanted)
        bug = SuspectedBug(Layer.INDUCTOR, Kind.WRONG_RESULT, "cpu")
        culprit = find(experiment, bug, SearchBudget(SEARCH, 2), supported=supported)
    assert culprit.stable
    assert (culprit.subsystem, culprit.operator) == (
        "inductor/lowerings",
        f"aten.{operator}.default",
    )
    assert culprit.workaround == (
        f"torch._inductor.lowering.make_fallback(torch.ops.aten.{operator}.default)",
    )


def test_what_breaks_every_compile_does_not_refuse_the_call_as_eager_does(tmp_path: Path) -> None:
    """`functionalize_rng_ops` raises that there is no CUDA, whatever is compiled."""
    message = (
        "unsupported operation: some elements of the input tensor and the written-to tensor refer"
        " to a single memory location. Please clone() the tensor before performing the operation."
    )
    failure = cast(
        Failure, {"exception": "RuntimeError", "message": message, "first_line": message}
    )
    program, wanted = text("culprit/overlap_is_accepted"), Signature(Kind.ACCEPTS_INVALID)
    settings = WorkerSettings("eager")
    functionalized = ("torch._functorch.config.functionalize_rng_ops", True)
    with WorkerPool(interpreter.WARM, 2, dict(os.environ), tmp_path, settings) as pool:
        experiment = make_pool_experiment(pool, program, wanted, failure)
        asked = {
            "as it is": Variation("as it is"),
            "broken": Variation("broken", config=(functionalized,)),
            "eager": Variation("eager", backend=Backend.EAGER),
        }
        shown = {name: experiment(how).result(RUN).bug for name, how in asked.items()}
    assert shown == {"as it is": True, "broken": None, "eager": False}


def test_all_applications_are_counted_and_those_above_the_limit_left_out(
    diagnosis: Diagnosis,
) -> None:
    everything = ask(diagnosis, bisect={**SPEC, "max": None})
    assert everything["outcome"] == "ok", everything
    key = f"{SPEC['backend']}/{SPEC['subsystem']}"
    total = everything["bisect"]["counts"][key]
    assert total >= 3 and everything["bisect"]["operator"] is None
    nothing = ask(diagnosis, bisect={**SPEC, "max": 0})
    # what is left whole hides the operators it would have been decomposed into
    assert 3 <= nothing["bisect"]["counts"][key] <= total
    assert nothing["bisect"]["operator"].startswith("aten.")  # the first that was left out


@pytest.mark.parametrize(
    "rung",
    [
        {"bisect": {"backend": "inductor", "subsystem": "no_such_passes", "max": 0}},
        {"config": {"torch._inductor.config.no_such_setting": 1}},
        {"config": {"torch._inductor.config.cpp.no_such_setting": 1}},
        {"fallback": ["aten.no_such_operator.default"]},
        {"undecomposed": ["aten.no_such_operator.default"]},
    ],
    ids=["subsystem", "setting", "setting_of_cpp", "operator", "decomposition"],
)
def test_what_a_release_lacks_is_skipped_not_gone(diagnosis: Diagnosis, rung: Json) -> None:
    answer = ask(diagnosis, backend="aot_eager_decomp_partition", **rung)
    assert answer["outcome"] == "skipped", answer
    assert judge_run(Signature(Kind.WRONG_RESULT), answer, None, None)[0] is None


def test_settings_are_named_as_this_torch_has_them(diagnosis: Diagnosis) -> None:
    assert diagnosis.basis.finding is not None
    names = list_changeable_settings("inductor")
    wanted = [*names, "torch._inductor.config.nothing"]
    settings = ask_supported_variations(diagnosis.basis.finding.call_session, wanted, RUN).settings
    assert settings is not None and "torch._inductor.config.nothing" not in settings
    assert settings["torch._inductor.config.pattern_matcher"] is True
    assert "torch._inductor.config.cpp.simdlen" in settings
