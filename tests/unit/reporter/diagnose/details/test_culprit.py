"""The culprit is named only where the bug comes with one application more; a workaround makes
everything right.

The compilers here are rules over variations, and time passes only where a test says so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from reporter.core.json_values import Json
from reporter.core.kinds import Kind, Layer, RungOutcome
from reporter.diagnose.details.culprit import BACKENDS, SearchBudget, SuspectedBug, find
from reporter.diagnose.details.experiment import SupportedVariations, Trial, Variation
from reporter.diagnose.details.switches import select_switches
from reporter.report.sections.details import CulpritSection

Rule = Callable[[Variation], "bool | None"]
#: How long one trial really takes where the trials are to overlap.
OVERLAP = 0.01
NOTHING = SupportedVariations((), None)


class Compiler:
    """A compiler whose bug is a rule over variations, with a clock that moves on by `seconds` with
    each trial.
    """

    def __init__(self, bug: Rule, seconds: float = 0.0, bisect: Json | None = None) -> None:
        self.bug = bug
        self.bisect = bisect
        self.seconds = seconds
        self.now = 0.0
        self.running = 0
        self.most = 0
        self.lock = threading.Lock()

    def clock(self) -> float:
        return self.now

    def __call__(self, variation: Variation) -> Future[Trial]:
        trial: Future[Trial] = Future()

        def work() -> None:
            time.sleep(OVERLAP if self.seconds else 0.0)
            with self.lock:
                self.running -= 1
                self.now += self.seconds
            if trial.set_running_or_notify_cancel():
                trial.set_result(Trial(self.bug(variation), bisect=self.bisect))

        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        if self.seconds:
            threading.Thread(target=work).start()
        else:
            work()
        return trial


def searched(
    compiler: Compiler,
    layer: str = "inductor",
    jobs: int = 2,
    supported: SupportedVariations = NOTHING,
    device: str = "cpu",
) -> CulpritSection:
    budget, kind = 1.0, "wrong_result"
    return find(
        compiler,
        SuspectedBug(layer, kind, device),
        SearchBudget(budget, jobs, compiler.clock),
        supported=supported,
    )


def search(bug: Rule, layer: str = "inductor") -> CulpritSection:
    return searched(Compiler(bug), layer)


FUSION = "torch._inductor.config.epilogue_fusion"
ORDER = "torch._inductor.config.pick_loop_orders"


def test_the_cheapest_switch_is_the_workaround() -> None:
    culprit = search(lambda v: dict(v.config).get(ORDER, True) and v.threads != 1)
    gone = {row.setting for row in culprit.switches if row.gone}
    assert gone == {ORDER + " = False", "torch.set_num_threads(1)"}
    assert culprit.workaround == (ORDER + " = False",)
    assert culprit.confirmed and not culprit.not_tried


def test_only_the_settings_of_the_device_are_tried() -> None:
    triton = "torch._inductor.config.triton.persistent_reductions = False"
    scalar = "torch._inductor.config.cpp.simdlen = 1"
    for device, one, other in (("cpu", scalar, triton), ("cuda", triton, scalar)):
        culprit = searched(Compiler(lambda v: True), device=device)
        tried = {row.setting for row in culprit.switches}
        assert one in tried and other not in tried


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
    culprit = searched(compiler, jobs=3)
    assert compiler.most <= 3
    assert culprit.stable and culprit.runs <= 5 + 3
    assert culprit.not_tried and len(culprit.switches) + len(culprit.not_tried) >= len(
        select_switches("inductor", Kind.WRONG_RESULT, "cpu", None)
    )


def test_what_the_release_lacks_is_no_row() -> None:
    lacked, there = ("inductor", "later_passes"), ("inductor", "lowerings")

    def compiler(v: Variation) -> Future[Trial]:
        trial: Future[Trial] = Future()
        lacks = v.bisect is not None and v.bisect[:2] == lacked or FUSION in dict(v.config)
        outcome = RungOutcome.SKIPPED if lacks else RungOutcome.OK
        trial.set_result(Trial(None if lacks else True, outcome=outcome))
        return trial

    bug = SuspectedBug(Layer.INDUCTOR, Kind.WRONG_RESULT, "cpu")
    supported = SupportedVariations((lacked, there), None)
    culprit = find(compiler, bug, SearchBudget(1.0, 2), supported=supported)
    assert [row.name for row in culprit.subsystems or ()] == ["/".join(there)]
    names = {row.setting for row in culprit.switches}
    assert ORDER + " = False" in names and FUSION + " = False" not in names


def test_where_no_lowering_can_be_left_out_operators_are_tried_one_by_one() -> None:
    pair = ("inductor", "lowerings")
    names = [f"aten.op{number}.default" for number in range(20)]
    counted: Json = {"counts": {"/".join(pair): 20}, "operators": names}

    def bug(v: Variation) -> bool | None:
        if v.bisect is not None and v.bisect[2] == 0 or names[3] in v.fallback:
            return None
        return names[11] not in v.fallback

    supported = SupportedVariations((pair,), {})
    compiler = Compiler(bug, bisect=counted)
    culprit = searched(compiler, supported=supported)
    assert (culprit.operator, culprit.application, culprit.exact) == (names[11], None, False)
    assert culprit.workaround == (f"torch._inductor.lowering.make_fallback(torch.ops.{names[11]})",)


CHAIN = [f"aten.{name}.default" for name in ("relu", "abs", "neg", "sum")]


def search_in_chain(blamed: list[str]) -> CulpritSection:
    """A bug that needs the last of four lowerings, and goes away if eager runs any of `blamed`."""
    pair = ("inductor", "lowerings")
    counted: Json = {"counts": {"/".join(pair): 4}, "operators": CHAIN, "operator": CHAIN[-1]}

    def bug(v: Variation) -> bool | None:
        limit = v.bisect[2] if v.bisect is not None else None
        return limit in (None, 4) and not set(blamed) & set(v.fallback)

    return searched(Compiler(bug, bisect=counted), supported=SupportedVariations((pair,), {}))


def test_of_fused_operators_the_first_whose_fallback_helps_is_named() -> None:
    """The later ones only read what it has left wrong; the earlier ones change nothing."""
    culprit = search_in_chain(CHAIN[1:])
    assert (culprit.operator, culprit.application, culprit.exact) == (CHAIN[1], None, False)
    assert culprit.workaround == (f"torch._inductor.lowering.make_fallback(torch.ops.{CHAIN[1]})",)


def test_the_operator_that_is_wrong_with_all_others_left_to_eager_stays_the_culprit() -> None:
    culprit = search_in_chain(CHAIN[-1:])
    assert (culprit.operator, culprit.application, culprit.exact) == (CHAIN[3], 4, True)


def test_a_workaround_is_told_as_programs_are_compiled_with_it() -> None:
    told: list[Variation] = []
    culprit = find(
        Compiler(lambda v: dict(v.config).get(ORDER, True)),
        SuspectedBug(Layer.INDUCTOR, Kind.WRONG_RESULT, "cpu"),
        SearchBudget(1.0, 2),
        supported=NOTHING,
        on_workaround=told.append,
    )
    (workaround,) = told
    assert workaround.config == ((ORDER, False),) and workaround.backend is None
    assert culprit.confirmed


def test_a_workaround_that_is_none_in_the_users_backend_is_not_told() -> None:
    told: list[Variation] = []
    name = "torch._functorch.config.cse"
    culprit = find(
        Compiler(lambda v: v.backend is None or dict(v.config).get(name, True)),
        SuspectedBug(Layer.AOT_AUTOGRAD, Kind.WRONG_RESULT, "cpu"),
        SearchBudget(1.0, 2),
        supported=NOTHING,
        on_workaround=told.append,
    )
    assert culprit.workaround and culprit.confirmed is False and not told
