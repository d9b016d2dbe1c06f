"""Which step of the compiler makes a confirmed bug, and the cheapest setting that makes it go away.

Nothing is concluded from one side only: an application N counts as the culprit when the bug is
there with N applied and gone with N-1, a workaround when the result is right with it, in the user's
own backend too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as replace_section

from reporter.core.delta_debugging import minimize_list
from reporter.core.kinds import (
    BACKEND_OF,
    CRASHES,
    Backend,
    CandidateOutcome,
    Kind,
    Layer,
    RungOutcome,
)
from reporter.diagnose.details import switches as table
from reporter.diagnose.details.experiment import (
    LOWERINGS,
    USUAL,
    Experiment,
    SupportedVariations,
    Trial,
    Variation,
    add_switches,
)
from reporter.diagnose.details.switches import ConfigSwitch
from reporter.diagnose.details.variation_search import LocatedApplication, Runner, locate
from reporter.report.sections.details import CulpritSection, TriedSection

#: The backend in which a layer's bug shows soonest; experiments there take less than in the user's
#: own.
BACKENDS: Mapping[Layer, Backend] = {
    layer: backend for layer, backend in BACKEND_OF.items() if layer != Layer.INDUCTOR
}
#: The share of the time that the search for the application may take before the switches have their
#: turn.
_BISECTION_SHARE = 0.5
#: What stands among the things not tried where time did not allow every set of settings.
_TOGETHER = "settings together"
#: So many operators before the one that bisection ends at are asked at most whether the fault is
#: theirs.
_MOST_EARLIER = 32


@dataclass(frozen=True)
class SuspectedBug:
    """What is looked for, on cpu or cuda; `mode` is the user's `mode=` of torch.compile, if any."""

    layer: Layer
    kind: Kind
    device: str
    mode: str | None = None


@dataclass(frozen=True)
class SearchBudget:
    """What a search may take: seconds of the `clock`, and runs at a time."""

    seconds: float
    jobs: int
    clock: Callable[[], float] = time.monotonic


def find(
    experiment: Experiment,
    bug: SuspectedBug,
    budget: SearchBudget,
    say: Callable[[str], None] = lambda _: None,
    supported: SupportedVariations = USUAL,
    on_workaround: Callable[[Variation], None] = lambda _: None,
) -> CulpritSection:
    """Searches for the culprit of a bug, and for how a program is compiled without it.

    Args:
        experiment: compiles under a variation and says whether the bug is there.
        bug: what is looked for.
        budget: seconds for everything, and runs at a time.
        say: gets what is being tried.
        supported: what the release can be asked.
        on_workaround: gets the workaround, if there is one, unless the bug is there with it in the
            user's own backend.
    """
    return _CulpritSearch(experiment, bug, budget, say, supported, on_workaround).find()


def list_changeable_settings(layer: Layer) -> list[str]:
    """The names of the settings that `find` may change for such a bug: what to ask a release
    about.
    """
    return table.list_setting_names(
        (*table.SWITCHES.get(layer, ()), table.SUPPRESS, table.CACHES, table.build_pass_switch(""))
    )


class _CulpritSearch:
    def __init__(
        self,
        experiment: Experiment,
        bug: SuspectedBug,
        budget: SearchBudget,
        say: Callable[[str], None],
        supported: SupportedVariations,
        on_workaround: Callable[[Variation], None],
    ) -> None:
        self.clock = budget.clock
        self.started = self.clock()
        self.runner = Runner(experiment, budget.jobs, self.started + budget.seconds, self.clock)
        self.budget = budget.seconds
        self.layer = bug.layer
        self.say = say
        self.supported = supported
        self.on_workaround = on_workaround
        self.switches = table.select_switches(
            bug.layer, bug.kind, bug.device, supported.settings, bug.mode
        )
        self.switches += _list_further_switches(supported, self.switches)
        if bug.kind in CRASHES:
            self.switches.append(table.SUPPRESS)
        self.base = Variation("control")
        self.tried: dict[ConfigSwitch, Trial] = {}
        self.not_tried: list[str] = []
        #: Whether there was time for each set of settings that might have been smaller.
        self.are_sets_tried = True
        #: Backend and subsystem without which the bug is gone.
        self.blamed: tuple[str, str] | None = None
        self.operators: list[str] = []

    def find(self) -> CulpritSection:
        """The whole search, in order of what it tells for its time."""
        self.say("culprit: control")
        if not self._run_control():
            return self._complete(CulpritSection(layer=self.layer, stable=False))
        culprit = CulpritSection(layer=self.layer, stable=True)
        if not self.tried:  # else the cache is to blame
            culprit = self._bisect(culprit)
            self._try_single_switches(culprit)
            if culprit.subsystem is None and self.layer == Layer.INDUCTOR:
                culprit = self._try_each_operator(culprit)
        chosen, minimal = self._find_workaround()
        confirmed = None
        if chosen:
            confirmed = self._confirm(chosen)
        return self._complete(
            replace_section(
                culprit,
                workaround=tuple(switch.setting for switch in chosen),
                confirmed=confirmed,
                minimal=minimal,
            )
        )

    def _complete(self, culprit: CulpritSection) -> CulpritSection:
        """The section with what was tried for it, and what that took."""
        rank = {switch: index for index, switch in enumerate(self.switches)}
        order = sorted(self.tried, key=lambda switch: rank.get(switch, -1))
        return replace_section(
            culprit,
            switches=tuple(_build_row(switch, self.tried[switch]) for switch in order),
            not_tried=tuple(self.not_tried),
            runs=self.runner.runs,
            seconds=round(self.clock() - self.started, 1),
            measured_seconds=round(self.runner.measured, 1),
        )

    def _run_control(self) -> bool:
        """Whether the unchanged program shows the bug, in the layer's own backend or else in the
        user's.
        """
        cached = replace(self.base, name="as it is", fresh=False)
        backend = BACKENDS.get(self.layer)
        bases = [replace(self.base, backend=backend)] if backend else []
        bases.append(self.base)
        trials = self.runner.run([*bases, cached])
        for base, trial in zip(bases, trials, strict=False):
            if trial is not None and trial.bug:
                self.base = base
                return True
        if trials[-1] is not None and trials[-1].bug and trials[-2] is not None:
            self.tried[table.CACHES] = trials[-2]
            return trials[-2].bug is False
        return False

    def _bisect(self, culprit: CulpritSection) -> CulpritSection:
        """The subsystem without which the bug is gone, and in it the application that brings it."""
        pairs = [pair for pair in self.supported.subsystems if _belongs(pair[0], self.layer)]
        deadline = self.started + self.budget * _BISECTION_SHARE
        if not pairs:
            return culprit
        counted = self._count_applications(pairs[-1])  # the one that every release has
        pairs = [pair for pair in pairs if counted is None or counted.get("/".join(pair))]
        self.say(f"culprit: {len(pairs)} subsystems")
        off = self.runner.run([self._vary(pair, 0) for pair in pairs], deadline)
        self.not_tried += [
            "/".join(pair) for pair, trial in zip(pairs, off, strict=True) if trial is None
        ]
        rows = tuple(
            _build_row(ConfigSwitch("/".join(pair), f"{pair[1]} left out"), trial)
            for pair, trial in zip(pairs, off, strict=True)
            if trial is not None and trial.outcome != RungOutcome.SKIPPED
        )
        culprit = replace_section(culprit, subsystems=rows)
        for pair, trial in zip(pairs, off, strict=True):
            if trial is not None and trial.bug is False:
                self.blamed = pair
                found = self._locate_application(
                    culprit, pair, (counted or {}).get("/".join(pair)), deadline
                )
                return self._find_origin(found)
        return culprit

    def _count_applications(self, pair: tuple[str, str]) -> dict[str, int] | None:
        """Applications per subsystem, from a run that leaves nothing out; None where the process
        dies first.
        """
        trial = self.runner.run([self._vary(pair, None)])[0]
        if trial is None or trial.bisect is None:
            return None
        self.operators = list(trial.bisect.get("operators") or ())
        return dict(trial.bisect["counts"])

    def _locate_application(
        self, culprit: CulpritSection, pair: tuple[str, str], total: int | None, deadline: float
    ) -> CulpritSection:
        name = "/".join(pair)
        self.say(f"culprit: {name}, {total or 'unknown number of'} applications")
        found: LocatedApplication = locate(
            lambda most: self.runner.run([self._vary(pair, one) for one in most], deadline),
            total,
            self.runner.jobs,
        )
        if not found.exact:
            self.not_tried.append(f"which application of {name}")
        counted = found.below.bisect if found.below and found.exact else None
        return replace_section(
            culprit,
            subsystem=name,
            application=found.number,
            of=total,
            exact=found.exact,
            operator=counted.get("operator") if counted else None,
            graph_pass=counted.get("pass") if counted else None,
        )

    def _find_origin(self, culprit: CulpritSection) -> CulpritSection:
        """The operator that makes the fault, where the one that bisection ends at only shows it.

        The last lowering of fused code brings a bug as soon as there is something to fuse with: its
        fallback writes its inputs to memory, which is to round or wrap them as eager does. So it is
        to blame if the bug is there with every other operator left to eager; else the first one
        before it whose own fallback makes the bug go away, since no earlier one's does.
        """
        shown = culprit.operator
        if not self._blames_lowerings() or shown not in self.operators:
            return culprit
        earlier = self.operators[: self.operators.index(shown)]
        if not earlier or len(earlier) > _MOST_EARLIER:
            return culprit
        others = [table.build_fallback_switch(one) for one in self.operators if one != shown]
        self.say(f"culprit: {shown} alone, and {len(earlier)} before it")
        alone = self.runner.run([add_switches(self.base, others)])[0]
        if alone is not None and alone.bug:
            return culprit
        switches = [table.build_fallback_switch(one) for one in earlier]
        trials = self.runner.run([add_switches(self.base, [one]) for one in switches])
        for switch, trial in zip(switches, trials, strict=True):
            if trial is not None and trial.bug is False:
                return replace_section(
                    culprit, operator=switch.fallback[0], application=None, exact=False
                )
        return culprit

    def _blames_lowerings(self) -> bool:
        return self.blamed is not None and self.blamed[1] == LOWERINGS

    def _vary(self, pair: tuple[str, str], most: int | None) -> Variation:
        limit = "all" if most is None else str(most)
        return replace(self.base, name=f"{'/'.join(pair)} {limit}", bisect=(*pair, most))

    def _try_single_switches(self, culprit: CulpritSection) -> None:
        """Which switches work alone: what the culprit suggests, then the usual axes, the rest, and
        what gives up most.

        Later ones are left alone once one that costs as little has worked.
        """
        directed = self._list_direct_switches(culprit)
        self.switches[:0] = directed
        axes = [switch for switch in self.switches if switch.name in table.AXES]
        rest = [switch for switch in self.switches if switch not in (*directed, *axes)]
        self.say(f"culprit: {len(self.switches)} settings")
        self._screen([[one] for one in (*directed, *axes)])
        if not self._works(directed):
            self._screen(_group_switches([switch for switch in rest if switch.cost == 1]))
            if not self._works(self.tried):
                self._screen(_group_switches([switch for switch in rest if switch.cost > 1]))

    def _list_direct_switches(self, culprit: CulpritSection) -> list[ConfigSwitch]:
        """The switches that leave out what was found, and nothing else."""
        found = []
        if culprit.operator is not None:
            is_lowered = self._blames_lowerings()
            make = table.build_fallback_switch if is_lowered else table.build_whole_switch
            found.append(make(culprit.operator))
        if culprit.graph_pass is not None:
            named = table.build_pass_switch(culprit.graph_pass)
            settings = self.supported.settings
            if settings is None or named.config[0][0] in settings:
                found.append(named)
        return found

    def _works(self, switches: Iterable[ConfigSwitch]) -> bool:
        """Whether one of the switches alone makes the bug go away."""
        return any(one in self.tried and self.tried[one].bug is False for one in switches)

    def _screen(self, groups: list[list[ConfigSwitch]]) -> None:
        """Tries groups of switches: a bug that stays is blamed on none of the group, any other
        group is split.
        """
        while groups:
            trials = self.runner.run([add_switches(self.base, group) for group in groups])
            halves: list[list[ConfigSwitch]] = []
            for group, trial in zip(groups, trials, strict=True):
                if trial is None:
                    self.not_tried += [switch.setting for switch in group]
                elif len(group) == 1 and not _is_lacking(trial):
                    self.tried[group[0]] = trial
                elif len(group) > 1 and trial.bug:
                    detail = f"{trial.detail}, with {len(group) - 1} other settings changed as well"
                    self.tried |= {switch: replace(trial, detail=detail) for switch in group}
                elif len(group) > 1:
                    halves += [group[: len(group) // 2], group[len(group) // 2 :]]
            groups = halves

    def _try_each_operator(self, culprit: CulpritSection) -> CulpritSection:
        """Where leaving out every lowering fails for another reason: eager's kernel for one
        operator at a time.
        """
        # not `directed`: several of them may help
        each = [replace(table.build_fallback_switch(one), directed=False) for one in self.operators]
        self.switches = each + self.switches
        self.say(f"culprit: {len(each)} operators")
        self._screen([each])
        gone = [one for one in each if one in self.tried and self.tried[one].bug is False]
        if len(gone) != 1:
            return culprit
        return replace_section(
            culprit, subsystem=f"{Backend.INDUCTOR.value}/{LOWERINGS}", operator=gone[0].fallback[0]
        )

    def _find_workaround(self) -> tuple[list[ConfigSwitch], bool]:
        """The cheapest switch that works alone, else the smallest set that works; whether it is
        known to be minimal.
        """
        alone = [switch for switch, trial in self.tried.items() if trial.bug is False]
        if alone:
            return [min(alone, key=_compute_price)], True
        useful: list[ConfigSwitch] = []
        for switch, trial in self.tried.items():
            if trial.bug and not any(switch.contradicts(other) for other in useful):
                useful.append(switch)
        if len(useful) < 2:
            return [], True
        everything = self.runner.run([add_switches(self.base, useful)])[0]
        if everything is None:
            self.not_tried.append(_TOGETHER)
        if everything is None or everything.bug is not False:
            return [], True
        self.say("culprit: the smallest set of settings")
        chosen = minimize_list(useful, self._find_first_gone)
        if not self.are_sets_tried:
            self.not_tried.append(_TOGETHER)
        return chosen, self.are_sets_tried

    def _find_first_gone(self, proposals: Sequence[list[ConfigSwitch]]) -> int | None:
        """The index of the first set of switches with which the bug is gone."""
        for start in range(0, len(proposals), self.runner.jobs):
            batch = proposals[start : start + self.runner.jobs]
            trials = self.runner.run([add_switches(self.base, chosen) for chosen in batch])
            for index, trial in enumerate(trials):
                if trial is None:
                    self.are_sets_tried = False
                elif trial.bug is False:
                    return start + index
            if None in trials:
                return None
        return None

    def _confirm(self, chosen: list[ConfigSwitch]) -> bool | None:
        """Whether the bug is gone in the user's own backend too; None where there was no time to
        look.
        """
        own = add_switches(replace(self.base, backend=None), chosen)
        trial = self.runner.run([own])[0]
        if trial is None or not trial.bug:
            self.on_workaround(own)
        return None if trial is None or trial.bug is None else not trial.bug


def _group_switches(switches: Sequence[ConfigSwitch]) -> list[list[ConfigSwitch]]:
    """What is tried together: all that do not contradict each other, since most of them do not
    matter.
    """
    groups: list[list[ConfigSwitch]] = []
    for switch in switches:
        for group in groups:
            if not any(switch.contradicts(other) for other in group):
                group.append(switch)
                break
        else:
            groups.append([switch])
    return groups


def _compute_price(switch: ConfigSwitch) -> tuple[int, bool]:
    """What names the culprit, before what may help by accident."""
    return switch.cost, not switch.directed


def _belongs(backend: str, layer: Layer) -> bool:
    return backend == BACKEND_OF.get(layer)


def _is_lacking(trial: Trial) -> bool:
    """Whether the release lacks what was to be varied."""
    lacking = (RungOutcome.SKIPPED, CandidateOutcome.CANNOT_JUDGE)
    return trial.bug is None and trial.outcome in lacking


def _list_further_switches(
    supported: SupportedVariations, known: Sequence[ConfigSwitch]
) -> list[ConfigSwitch]:
    """Changes of configuration in the release's own table that ours lacks."""
    names = {(name, repr(value)) for switch in known for name, value in switch.config}
    return [
        table.build_change_switch(name, value)
        for name, value in supported.changes
        if (name, repr(value)) not in names
    ]


def _build_row(switch: ConfigSwitch, trial: Trial) -> TriedSection:
    gone = None if trial.bug is None else not trial.bug
    return TriedSection(
        name=switch.name,
        setting=switch.setting,
        meaning=switch.meaning,
        gone=gone,
        seconds=round(trial.seconds, 2),
        detail=trial.detail,
    )
