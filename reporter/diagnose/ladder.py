"""The ladder: one recorded call under eager, float64 and each backend, in the order that localises a fault.

Rungs run in forks of the moment before the call. What explains a difference away (`fallback_random`,
`emulate_precision_casts`, a last-bit change of the inputs, a fresh compile) is measured only when there is one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from reporter.lab import Json
from reporter.recording import Finding

BACKENDS = ("eager", "aot_eager", "aot_eager_decomp_partition")
FALLBACK_RANDOM = {"torch._inductor.config.fallback_random": True}
EMULATE_CASTS = {"torch._inductor.config.emulate_precision_casts": True}


@dataclass(frozen=True)
class Rung:
    """What one rung showed. `outcome`: ok, differs, raises, died, timeout or skipped."""

    name: str
    outcome: str
    detail: str = ""
    comparison: Json | None = None
    failure: Json | None = None
    signal: str | None = None
    snapshot: str | None = None
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """Ran, and agrees with eager by the receiving side's rule."""
        return self.outcome == "ok"


@dataclass
class Ladder:
    """The rungs measured so far, by name, in order, and the facts of a probed eager run."""

    rungs: dict[str, Rung] = field(default_factory=dict)
    facts: Json = field(default_factory=dict)

    def __getitem__(self, name: str) -> Rung:
        return self.rungs.get(name) or Rung(name, "skipped")


class Climber:
    """Measures rungs of one finding on demand; each rung once."""

    def __init__(self, finding: Finding, timeout: float, progress: Callable[[str], None]) -> None:
        self.finding = finding
        self.timeout = timeout
        self.progress = progress
        self.ladder = Ladder()
        self._ahead: dict[str, Future[Json]] = {}
        self._exact: str | None = None

    def basics(self) -> Ladder:
        """Eager, eager again, facts, float64: what the program is without a compiler."""
        self._run("eager", how="eager")
        self.progress("eager again")
        again = self._run("eager_again", how="eager")
        if again.outcome == "ok" and self.ladder["eager"].outcome == "ok":
            self._judge(again)
        probe = self.finding.lab.request({"op": "run", "rung": {"how": "probe"}}, self.timeout)
        self.ladder.facts = dict(probe.get("facts") or {})
        if self.ladder["eager"].outcome == "ok":
            exact = self._run("fp64", how="eager", fp64=True)
            self._exact = exact.snapshot if exact.outcome == "ok" else None
        return self.ladder

    def own_name(self) -> str:
        """The name of the user's backend: `inductor` unless chosen otherwise; `custom` for a callable."""
        backend = self.finding.options.get("backend", "inductor")
        if isinstance(backend, dict):
            return "custom"
        return str(backend) if backend not in BACKENDS else "inductor"

    def compiled(
        self, name: str, *, replay: bool | None = None, config: Json | None = None, **rung: Any
    ) -> Rung:
        """Measures one compiled rung and compares it with eager."""
        if name in self.ladder.rungs:
            return self.ladder.rungs[name]
        self.progress(name)
        wanted = self.finding.replay if replay is None else replay
        replayed = wanted and rung.get("how") == "compiled"
        measured = self._run(name, replay=replayed, config=config or {}, **rung)
        return self._judge(measured)

    def ahead(self, rungs: Mapping[str, Mapping[str, Any]]) -> None:
        """Starts compiled rungs side by side; `compiled` then waits for them one by one."""
        for name, rung in rungs.items():
            if name not in self.ladder.rungs and name not in self._ahead:
                replay = self.finding.replay and rung.get("how") == "compiled"
                self._ahead[name] = self._submit(name, replay=replay, config={}, **rung)

    def perturbed(self) -> Rung:
        """Eager with every second input element moved by one unit in the last place."""
        return self._judge(self._run("perturbed", how="eager", perturb=True))

    def _submit(self, name: str, **rung: Any) -> Future[Json]:
        folder = self.finding.lab.folder
        rung["snapshot"] = str(folder / f"rung-{self.finding.call}-{name}-{id(self)}.pt")
        rung.setdefault("grads", self.finding.grads)
        return self.finding.lab.submit({"op": "run", "rung": rung}, self.timeout)

    def _run(self, name: str, **rung: Any) -> Rung:
        started = time.monotonic()
        future = self._ahead.pop(name, None) or self._submit(name, **rung)
        answer = future.result(timeout=self.timeout + 60)
        outcome = str(answer["outcome"])
        failure = answer.get("failure")
        detail = (
            f"{failure['exception']}: {failure['first_line']}"
            if failure
            else str(answer.get("signal") or "")
        )
        measured = Rung(
            name,
            outcome,
            detail[:300],
            None,
            failure,
            answer.get("signal"),
            answer.get("snapshot"),
            round(float(answer.get("seconds") or time.monotonic() - started), 2),
        )
        self.ladder.rungs[name] = measured
        return measured

    def _judge(self, rung: Rung) -> Rung:
        reference = self.ladder["eager"]
        if rung.outcome != "ok" or reference.outcome != "ok":
            return rung
        answer = self.finding.lab.request(
            {
                "op": "compare",
                "reference": reference.snapshot,
                "actual": rung.snapshot,
                "exact": self._exact,
                "origin": "torch.bfloat16" if self.ladder.facts.get("coarse") else None,
            },
            self.timeout,
        )
        comparison = answer.get("comparison")
        outcome = "ok" if comparison is None or comparison["same"] else "differs"
        judged = Rung(
            rung.name,
            outcome,
            describe(comparison),
            comparison,
            None,
            None,
            rung.snapshot,
            rung.seconds,
        )
        self.ladder.rungs[rung.name] = judged
        return judged


def describe(comparison: Json | None) -> str:
    """The worst difference in a few words."""
    if comparison is None or comparison["equal"]:
        return ""
    if comparison["metadata"]:
        first = comparison["metadata"][0]
        return f"{first['where']}: {first['property']} {first['eager']} in eager, {first['compiled']} compiled"
    worst = worst_value(comparison)
    if worst is None:
        return ""
    text = f"{worst['where']}: max abs error {worst.get('max_abs_error', float('nan')):.4g}"
    if "error_vs_fp64" in worst:
        text += f"; off float64 by {worst['error_vs_fp64']:.3g}, eager by {worst['eager_error_vs_fp64']:.3g}"
    return text


def worst_value(comparison: Json) -> Json | None:
    """The value difference to report: the first one the rule minds, else the largest."""
    values = comparison["values"]
    minded = [item for item in values if not item["same"]] or values
    return max(minded, key=lambda item: item.get("max_abs_error") or 0.0) if minded else None
