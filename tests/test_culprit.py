"""The culprit is named only where the bug comes with one application more; a workaround makes everything right."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path

import pytest

from reporter.diagnose.culprit import BACKENDS, candidates, find
from reporter.diagnose.experiment import (
    Abilities,
    Trial,
    Variation,
    lab_abilities,
    lab_experiment,
    pool_experiment,
    shown,
)
from reporter.diagnose.judge import judge
from reporter.diagnose.search import Runner, locate
from reporter.diagnose.suspect import Culprit
from reporter.diagnose.switches import SWITCHES, applicable
from reporter.diagnose.verdict import Diagnosis
from reporter.lab import Json
from reporter.recording import Session
from reporter.reduce.pool import WorkerPool
from reporter.signature import Signature, of_assertion

pytest.importorskip("torch", reason="scripts are run with this interpreter's torch")

# --- where an application is found ---------------------------------------------------------------


def asking(
    bug: Callable[[int], bool | None], limit: int = 1000
) -> tuple[list[int], Callable[..., list[Trial | None]]]:
    asked: list[int] = []

    def ask(points: Sequence[int]) -> list[Trial | None]:
        answers: list[Trial | None] = []
        for point in points:
            asked.append(point)
            answers.append(Trial(bug(point)) if len(asked) <= limit else None)
        return answers

    return asked, ask


@pytest.mark.parametrize("total", [1, 2, 3, 120, None])
@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_application_can_be_the_one(total: int | None, jobs: int) -> None:
    for culprit in range(1, (total or 40) + 1):
        asked, ask = asking(lambda most, culprit=culprit: most >= culprit)
        found = locate(ask, total, jobs)
        assert (found.number, found.exact) == (culprit, True)
        assert found.below is not None and found.below.bug is False
        assert len(asked) <= 30


def test_what_nobody_can_judge_is_stepped_over() -> None:
    _, ask = asking(lambda most: None if most in (30, 60, 61) else most >= 77)
    assert locate(ask, 120, 2).number == 77
    _, ask = asking(lambda most: None if most == 76 else most >= 77)
    found = locate(ask, 120, 2)
    assert not found.exact and found.number == 77


def test_without_time_nothing_is_claimed() -> None:
    _, ask = asking(lambda most: most >= 77, limit=3)
    assert not locate(ask, 120, 1).exact
    _, ask = asking(lambda most: most >= 77, limit=3)
    assert locate(ask, None, 1).number is None


# --- the search, over compilers that are rules ---------------------------------------------------


class Compiler:
    """A compiler whose bug is a rule over variations."""

    def __init__(
        self,
        bug: Callable[[Variation], bool | None],
        seconds: float = 0.0,
        bisect: Json | None = None,
    ) -> None:
        self.bug = bug
        self.bisect = bisect
        self.seconds = seconds
        self.running = 0
        self.most = 0
        self.lock = threading.Lock()

    def __call__(self, variation: Variation) -> Future[Trial]:
        trial: Future[Trial] = Future()

        def work() -> None:
            time.sleep(self.seconds)
            with self.lock:
                self.running -= 1
            if not trial.cancelled():
                trial.set_result(Trial(self.bug(variation), bisect=self.bisect))

        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        threading.Thread(target=work).start()
        return trial


def search(
    bug: Callable[[Variation], bool | None],
    layer: str = "inductor",
    kind: str = "wrong_result",
    budget: float = 60.0,
) -> Culprit:
    nothing = Abilities((), None)
    return find(Compiler(bug), layer, kind, budget, 2, lambda _: None, nothing)


FUSION = "torch._inductor.config.epilogue_fusion"
ORDER = "torch._inductor.config.pick_loop_orders"


def test_the_cheapest_switch_is_the_workaround() -> None:
    culprit = search(lambda v: dict(v.config).get(ORDER, True) and v.threads != 1)
    gone = {row.setting for row in culprit.switches if row.gone}
    assert gone == {ORDER + " = False", "torch.set_num_threads(1)"}
    assert culprit.workaround == (ORDER + " = False",)
    assert culprit.confirmed and not culprit.not_tried


def test_two_switches_are_found_where_one_alone_does_nothing() -> None:
    culprit = search(lambda v: not {(ORDER, False), (FUSION, False)} <= set(v.config))
    assert sorted(culprit.workaround) == [FUSION + " = False", ORDER + " = False"]
    assert not any(row.gone for row in culprit.switches)
    assert culprit.minimal


def test_a_switch_that_brings_another_failure_hides_no_other_switch() -> None:
    def bug(v: Variation) -> bool | None:
        config = dict(v.config)
        return None if FUSION in config else config.get(ORDER, True)

    culprit = search(bug)
    rows = {row.setting: row.gone for row in culprit.switches}
    assert rows[FUSION + " = False"] is None and rows[ORDER + " = False"] is True


def test_a_bug_that_comes_and_goes_has_no_culprit() -> None:
    culprit = search(lambda v: False)
    assert not culprit.stable and not culprit.workaround and not culprit.switches
    assert search(lambda v: None).stable is False


def test_a_bug_of_a_cached_graph_is_blamed_on_the_cache() -> None:
    culprit = search(lambda v: not v.fresh)
    assert culprit.workaround == ("torch._inductor.config.force_disable_caches = True",)


def test_a_workaround_of_the_layer_is_checked_in_the_users_backend() -> None:
    name = "torch._functorch.config.cse"

    def bug(v: Variation) -> bool:
        return v.backend != BACKENDS["aot_autograd"] or dict(v.config).get(name, True)

    culprit = search(bug, "aot_autograd")
    assert culprit.workaround == (name + " = False",) and culprit.confirmed is False


def test_time_is_kept_and_what_was_not_tried_is_said() -> None:
    compiler = Compiler(lambda v: True, seconds=0.2)
    culprit = find(
        compiler, "inductor", "wrong_result", 1.0, 3, lambda _: None, Abilities((), None)
    )
    assert compiler.most <= 3
    assert culprit.not_tried and len(culprit.switches) + len(culprit.not_tried) >= len(
        applicable("inductor", "cpu", None)
    )
    assert Runner(compiler, 1, time.monotonic() - 1).run([Variation("late")]) == [None]


def test_where_no_lowering_can_be_left_out_operators_are_tried_one_by_one() -> None:
    pair = ("inductor", "lowerings")
    names = [f"aten.op{number}.default" for number in range(20)]
    counted: Json = {"counts": {"/".join(pair): 20}, "operators": names}

    def bug(v: Variation) -> bool | None:
        if v.bisect is not None and v.bisect[2] == 0 or names[3] in v.fallback:
            return None
        return names[11] not in v.fallback

    abilities = Abilities((pair,), {})
    compiler = Compiler(bug, bisect=counted)
    culprit = find(compiler, "inductor", "wrong_result", 60, 2, lambda _: None, abilities)
    assert (culprit.operator, culprit.application, culprit.exact) == (names[11], None, False)
    assert culprit.workaround == (f"torch._inductor.lowering.make_fallback(torch.ops.{names[11]})",)


def test_switches_that_change_nothing_are_not_tried() -> None:
    found = applicable("inductor", "cpu", {FUSION: False, ORDER: True})
    assert [switch.setting for switch in found if switch.config] == [ORDER + " = False"]
    assert not any("triton" in switch.setting for switch in applicable("inductor", "cpu", None))


# --- what one run shows --------------------------------------------------------------------------

SAME: Json = {"same": True, "metadata": [], "values": []}
WRONG: Json = {"same": False, "metadata": [], "values": [{"property": "value", "same": False}]}
STRIDE: Json = {"same": False, "metadata": [{"property": "stride"}], "values": []}
RAISED: Json = {"exception": "ValueError", "first_line": "bad", "message": "bad", "frames": []}
RUNS: list[tuple[str, Signature, Json, Json | None, bool | None]] = [
    ("gone", Signature("wrong_result"), {"outcome": "ok"}, SAME, False),
    ("there", Signature("wrong_result"), {"outcome": "ok"}, WRONG, True),
    ("other difference", Signature("wrong_result"), {"outcome": "ok"}, STRIDE, None),
    ("metadata", Signature("wrong_metadata", property="stride"), {"outcome": "ok"}, STRIDE, True),
    (
        "other metadata",
        Signature("wrong_metadata", property="dtype"),
        {"outcome": "ok"},
        STRIDE,
        None,
    ),
    ("wrong instead of metadata", Signature("wrong_metadata"), {"outcome": "ok"}, WRONG, None),
    ("not the gradient", Signature("wrong_gradient"), {"outcome": "ok"}, WRONG, None),
    (
        "raises instead",
        Signature("wrong_result"),
        {"outcome": "raises", "failure": RAISED},
        None,
        None,
    ),
    (
        "crash",
        Signature("crash", exception="ValueError", message="bad"),
        {"outcome": "raises", "failure": RAISED},
        None,
        True,
    ),
    (
        "other crash",
        Signature("crash", exception="KeyError", message="bad"),
        {"outcome": "raises", "failure": RAISED},
        None,
        None,
    ),
    ("runs but wrong", Signature("crash"), {"outcome": "ok"}, WRONG, None),
    ("runs", Signature("crash"), {"outcome": "ok"}, SAME, False),
    (
        "accepts",
        Signature("accepts_invalid", exception="ValueError"),
        {"outcome": "ok"},
        None,
        True,
    ),
    (
        "refuses",
        Signature("accepts_invalid", exception="ValueError"),
        {"outcome": "raises", "failure": RAISED},
        None,
        False,
    ),
    (
        "dies",
        Signature("process_death", signal="SIGSEGV"),
        {"outcome": "died", "signal": "SIGSEGV"},
        None,
        True,
    ),
    (
        "dies otherwise",
        Signature("process_death", signal="SIGSEGV"),
        {"outcome": "died", "signal": "SIGABRT"},
        None,
        None,
    ),
    ("too slow", Signature("wrong_result"), {"outcome": "timeout"}, None, None),
    ("hangs", Signature("hang"), {"outcome": "timeout"}, None, True),
    ("no such setting", Signature("crash"), {"outcome": "skipped"}, None, None),
]


@pytest.mark.parametrize(
    ("wanted", "run", "comparison", "bug"), [row[1:] for row in RUNS], ids=[row[0] for row in RUNS]
)
def test_another_failure_is_no_answer(
    wanted: Signature, run: Json, comparison: Json | None, bug: bool | None
) -> None:
    assert (
        shown(wanted, run, comparison, RAISED if wanted.kind == "accepts_invalid" else None)[0]
        is bug
    )


# --- torch itself --------------------------------------------------------------------------------

#: The third of three decompositions is wrong; the backend needs no C++ compiler.
FAULTY = """
import torch, torch._inductor.decomposition as d

d.decompositions[torch.ops.aten.hardswish.default] = lambda zebra: zebra * 0.5

def giraffe(zebra):
    return torch.nn.functional.hardswish(torch.nn.functional.silu(torch.nn.functional.mish(zebra)))

x = torch.linspace(-2, 2, 64)
out = torch.compile(giraffe, backend="aot_eager_decomp_partition")(x)
assert torch.allclose(out, giraffe(x), atol=1e-4), "wrong result: eager is off by 0.0, compiled by 1.0"
"""


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Diagnosis]:
    folder = tmp_path_factory.mktemp("culprit")
    script = folder / "script.py"
    script.write_text(FAULTY)
    session = Session(
        Path(sys.executable),
        [str(script)],
        module=False,
        cwd=folder,
        timeout=120,
        cache=folder / "cache",
        echo=None,
        talk=lambda _: None,
    )
    recording = session.run()
    yield judge(recording, 60, lambda _: None)
    recording.close()


def ask(diagnosis: Diagnosis, **rung: object) -> Json:
    assert diagnosis.finding is not None
    lab = diagnosis.finding.lab
    path = str(lab.folder / f"ask-{time.monotonic_ns()}.pt")
    return lab.request({"op": "run", "rung": {"how": "compiled", "snapshot": path, **rung}}, 60)


def test_a_faulty_decomposition_is_named(diagnosis: Diagnosis) -> None:
    assert (diagnosis.kind, diagnosis.layer) == ("wrong_result", "decomposition")
    assert diagnosis.finding is not None
    abilities = lab_abilities(
        diagnosis.finding.lab, candidates(diagnosis.layer, diagnosis.kind), 60
    )
    if not abilities.subsystems:
        pytest.skip("this torch cannot leave out single decompositions")
    experiment = lab_experiment(diagnosis, 60)
    culprit = find(experiment, diagnosis.layer, diagnosis.kind, 240, 2, lambda _: None, abilities)
    assert culprit.subsystem == "aot_eager_decomp_partition/decomposition"
    assert culprit.exact and culprit.operator == "aten.hardswish.default"
    assert culprit.application is not None and culprit.of is not None
    assert culprit.application <= culprit.of
    assert culprit.workaround == (
        "torch._inductor.decomposition.decompositions.pop(torch.ops.aten.hardswish.default)",
    )
    assert culprit.confirmed
    assert "zebra" not in str(culprit.to_json()) and "giraffe" not in str(culprit.to_json())


def test_a_repro_names_the_same_culprit(tmp_path: Path) -> None:
    wanted = of_assertion("wrong result: eager is off by 0.0, compiled by 1.0")
    assert wanted is not None
    pair = ("aot_eager_decomp_partition", "decomposition")
    with WorkerPool(Path(sys.executable), 2, {}, tmp_path, warm_backend="eager") as pool:
        experiment = pool_experiment(pool, FAULTY, wanted)
        culprit = find(
            experiment,
            "decomposition",
            "wrong_result",
            240,
            2,
            lambda _: None,
            Abilities((pair,), {}),
        )
    assert culprit.stable
    if culprit.subsystem is None:
        pytest.skip("this torch cannot leave out single decompositions")
    assert culprit.operator == "aten.hardswish.default" and culprit.exact


def test_all_applications_are_counted_and_those_above_the_limit_left_out(
    diagnosis: Diagnosis,
) -> None:
    spec = {"backend": "aot_eager_decomp_partition", "subsystem": "decomposition"}
    everything = ask(diagnosis, bisect={**spec, "max": None})
    if everything["outcome"] == "skipped":
        pytest.skip("this torch cannot leave out single decompositions")
    total = everything["bisect"]["applications"]
    assert total >= 3 and everything["bisect"]["operator"] is None
    nothing = ask(diagnosis, bisect={**spec, "max": 0})
    # what is left whole hides the operators it would have been decomposed into
    assert 3 <= nothing["bisect"]["applications"] <= total
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
)
def test_what_a_release_lacks_is_skipped_not_gone(diagnosis: Diagnosis, rung: Json) -> None:
    answer = ask(diagnosis, backend="aot_eager_decomp_partition", **rung)
    assert answer["outcome"] == "skipped", answer
    assert shown(Signature("wrong_result"), answer, None, None)[0] is None


def test_settings_are_named_as_this_torch_has_them(diagnosis: Diagnosis) -> None:
    assert diagnosis.finding is not None
    names = candidates("inductor", "crash")
    settings = lab_abilities(
        diagnosis.finding.lab, [*names, "torch._inductor.config.nothing"], 60
    ).settings
    assert settings is not None and "torch._inductor.config.nothing" not in settings
    assert settings["torch._inductor.config.pattern_matcher"] is True
    assert "torch._inductor.config.cpp.simdlen" in settings


def test_every_layer_has_switches_and_no_setting_twice() -> None:
    for layer, switches in SWITCHES.items():
        written = [switch.setting for switch in switches]
        assert written and len(set(written)) == len(written), layer
