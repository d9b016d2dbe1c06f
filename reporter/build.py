"""The second half of a run: from a recording to a reduced, verified repro, by nothing but complete candidate texts."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anonymizer.harness import Check
from anonymizer.ir import Graph
from reporter import reduction, rewritten, seeds
from reporter.candidate import Candidate, judge, seen
from reporter.errors import CannotJudgeError
from reporter.progress import Progress
from reporter.recorded import Recorded
from reporter.reduce.answer import Answer
from reporter.reduce.cold import run_cold
from reporter.reduce.journal import Journal
from reporter.reduce.passes import Questions
from reporter.reduce.pool import WorkerPool
from reporter.reduce.scheduler import Counts, Scheduler
from reporter.settings import Options
from reporter.signature import Signature

Json = dict[str, Any]
COLD_RUNS = 3
_ABLATION: tuple[tuple[str, dict[str, Any]], ...] = (
    ("eager", {"backend": "eager"}),
    ("aot_eager", {"backend": "aot_eager"}),
    ("aot_eager_decomp_partition", {"backend": "aot_eager_decomp_partition"}),
    ("inductor", {"backend": "inductor"}),
    ("dynamic=True", {"dynamic": True}),
    ("dynamic=False", {"dynamic": False}),
    ("mode=max-autotune-no-cudagraphs", {"mode": "max-autotune-no-cudagraphs"}),
)


@dataclass(frozen=True)
class Built:
    """A reduced repro: its formatted text, what fresh processes showed of it, and how it was reached."""

    candidate: Candidate
    text: str
    signature: Signature
    cold: tuple[Answer, ...]
    reproduced: tuple[int, int]
    ablation: tuple[Json, ...]
    counts: Counts
    others: tuple[Json, ...]
    seconds: float
    reduced_from: str


class Builder:
    """Everything one build needs at hand: the recording, the workers, the journal and the display."""

    def __init__(
        self,
        recorded: Recorded,
        options: Options,
        pool: WorkerPool,
        warm: Path,
        journal: Journal | None,
        progress: Progress,
    ) -> None:
        assert recorded.signature is not None and recorded.check is not None
        self.recorded = recorded
        self.options = options
        self.pool = pool
        self.warm = warm
        self.progress = progress
        self.wanted = recorded.signature
        self.backend = rewritten.backend(recorded) if recorded.layer == "backend" else None
        self.others: dict[str, Json] = {}
        self.size = ""
        self.scheduler = Scheduler(
            pool,
            judge(self.wanted),
            journal,
            self._count,
            options.seed,
            self._other,
            max_seconds=max(600.0, 4 * options.timeout),
        )
        self.ask = Questions(self.scheduler, self._shrunk)

    def _count(self, counts: Counts) -> None:
        self.progress.update(counts.settled, self.size)

    def _shrunk(self, candidate: Candidate) -> None:
        self.size = reduction.size_of(candidate)
        self.progress.update(self.scheduler.counts.settled, self.size)

    def _other(self, text: str, answer: Answer) -> None:
        """Another failure met on the way: kept with its smallest candidate, never swapped in."""
        signature = seen(answer)
        if signature is None or signature.kind == self.wanted.kind and signature.kind != "crash":
            return
        key = signature.text()
        known = self.others.get(key)
        if known is None or len(text) < len(known["candidate"]):
            self.others[key] = {"kind": signature.kind, "signature": key, "candidate": text}

    def build(self) -> Built:
        """Seed, reduce, verify. Raises CannotJudgeError if no public program shows the failure."""
        started = time.monotonic()
        self.progress.stage("rewrite", "rebuilding the failing program from stock layers")
        seed = self._seed()
        before = reduction.size_of(seed)
        self.progress.stage("reduce", f"from {before}")
        reduced = self._reduce(seed)
        self.progress.stage("verify", f"{COLD_RUNS} fresh processes")
        text = formatted(reduced.text())
        cold = self._cold(text)
        hits = sum(judge(self.wanted)(answer) for answer in cold)
        if hits == 0:
            raise CannotJudgeError(
                f"the reduced program fails in warm workers but in none of {COLD_RUNS} fresh processes, so it is not reported; "
                "the candidates are kept in the private folder"
            )
        self.progress.stage("ablation", f"seen in {hits} of {COLD_RUNS}")
        return Built(
            candidate=reduced,
            text=text,
            signature=replace(self.wanted),
            cold=cold,
            reproduced=(hits, len(cold)),
            ablation=tuple(self.ablation(text, reduced.check)),
            counts=self.scheduler.counts,
            others=tuple(self.others.values()),
            seconds=round(time.monotonic() - started, 1),
            reduced_from=before,
        )

    # -- seeds -------------------------------------------------------------------------------------

    def _seed(self) -> Candidate:
        for candidates in self._sources():
            found = self.ask.first(candidates)
            if found is not None:
                return found
        reasons = sorted(
            {graph["unsupported"] for graph, _ in self.recorded.captures if "unsupported" in graph}
        )
        more = f" ({'; '.join(reasons)})" if reasons else ""
        raise CannotJudgeError(
            f"the failure ({self.wanted.text()}) could not be shown by a program with public parts and synthetic values{more}; "
            "the verdict stands, but there is no repro to report"
        )

    def _sources(self) -> Iterator[Iterator[Candidate]]:
        graphs = self._graphs()
        sources = self._rewritten()
        yield from (sources, graphs) if self.recorded.layer == "dynamo" else (graphs, sources)

    def _check(self) -> Check:
        """The recorded check; a backend of the user's own comes along as rewritten code."""
        check = self.recorded.check
        assert check is not None
        if self.backend is None:
            return check
        backend = rewritten.backend_text(self.backend)
        return replace(
            check,
            arguments=(("backend", "custom_backend"), *check.arguments),
            prelude="\n\n\n".join(part for part in (check.prelude, backend) if part),
        )

    def _graphs(self) -> Iterator[Candidate]:
        check = self._check()
        for graph, way in self.recorded.captures:
            yield from seeds.graph_candidates(graph, way, check, self.recorded.layer)

    def _rewritten(self) -> Iterator[Candidate]:
        content = rewritten.program(self.recorded)
        if content is not None:
            yield from seeds.source_candidates(content, self._check(), self.recorded.layer)

    # -- reduction and verification ------------------------------------------------------------------

    def _reduce(self, seed: Candidate) -> Candidate:
        if isinstance(seed.content, Graph):
            reduced = reduction.reduce_graph(seed, self.ask)
        else:
            reduced = rewritten.reduce_source(seed, self.ask)
        if self.backend is not None:
            reduced = rewritten.reduce_backend(reduced, self.backend, self.ask)
        return reduced

    def _cold(self, text: str) -> tuple[Answer, ...]:
        limit = max(120.0, 4 * self.pool.time_limit)
        python = Path(self.recorded.python)
        with ThreadPoolExecutor(max_workers=min(COLD_RUNS, self.options.jobs)) as threads:
            runs = [
                threads.submit(run_cold, python, text, limit, None, True, None, self.warm)
                for _ in range(COLD_RUNS)
            ]
            return tuple(run.result() for run in runs)

    def ablation(self, text: str, check: Check) -> Iterator[Json]:
        """The repro itself under each backend, mode and `dynamic`; overrides replace its torch.compile arguments."""
        custom = self.recorded.layer == "backend"
        rows = [row for row in _ABLATION if not custom or row[0].startswith(("eager", "dynamic"))]
        random = "fallback_random" not in str(check.config)
        if self.recorded.layer in ("inductor", "decomposition") and self.wanted.kind.startswith(
            "wrong"
        ):
            rows.append(
                (
                    "emulate_precision_casts",
                    {"config": {"torch._inductor.config.emulate_precision_casts": True}},
                )
            )
            if random:
                rows.append(
                    (
                        "fallback_random",
                        {"config": {"torch._inductor.config.fallback_random": True}},
                    )
                )
        futures = [(name, self.pool.submit(text, overrides=overrides)) for name, overrides in rows]
        for name, future in futures:
            yield ablation_row(name, future.result(), self.wanted)


def ablation_row(name: str, answer: Answer, wanted: Signature) -> Json:
    """One row of the ablation table: did the repro, with one setting changed, still show the failure?"""
    found = seen(answer)
    outcomes = {"passes": "ok", "died": "died", "timeout": "timeout"}
    outcome = outcomes.get(answer.outcome, "skipped")
    detail = ""
    if found is not None and answer.outcome == "fails":
        outcome = "raises" if found.kind == "crash" else "differs"
        failure = answer.failure or {}
        detail = (
            str(failure.get("first_line", ""))[:200]
            if found.kind != "crash"
            else f"{found.exception}"
        )
    row: Json = {
        "rung": name,
        "outcome": outcome,
        "detail": detail,
        "max_abs_error": None,
        "error_vs_fp64": None,
        "eager_error_vs_fp64": None,
    }
    numbers = errors_of(answer)
    row.update(numbers)
    return row


def errors_of(answer: Answer) -> Json:
    """The numbers of a repro's own assertion message."""
    import re

    message = str((answer.failure or {}).get("message", ""))
    found = re.search(r"eager is off by ([-+\w.]+) from float64, compiled by ([-+\w.]+)", message)
    if found:
        return {
            "eager_error_vs_fp64": float(found.group(1)),
            "error_vs_fp64": float(found.group(2)),
        }
    plain = re.search(r"max abs error ([-+\w.]+)", message)
    return {"max_abs_error": float(plain.group(1))} if plain else {}


def formatted(text: str) -> str:
    """The text as black writes it."""
    import black

    return black.format_str(text, mode=black.Mode())


def operators(text: str) -> tuple[str, ...]:
    """Names of the torch operations in `forward` (or `repro`), in order, each once."""
    found: dict[str, None] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name in ("forward", "repro"):
            for call in ast.walk(node):
                if isinstance(call, ast.Call):
                    found[_called(call.func)] = None
    return tuple(name for name in found if name)


def _called(node: ast.expr) -> str:
    text = ast.unparse(node)
    if text.startswith("self."):
        return text.removeprefix("self.").rstrip("0123456789_")
    for prefix in ("torch.", "F."):
        if text.startswith(prefix):
            return text
    return text.rsplit(".", 1)[-1] if "." in text else ""
