"""A finished run as the outgoing side gets it: private programs, honest repros, and the report made
of them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

from reporter.core.kinds import Kind, Layer, RungOutcome
from reporter.publish.torch_report import summarize_failure
from reporter.report.labels import choose_labels
from reporter.report.sections.base import build_section
from reporter.report.sections.finished_repro import ReproInfo, Requires
from reporter.report.sections.machine import EnvironmentSection
from reporter.report.sections.measurements import RungRow
from reporter.report.sections.outgoing import IssueSection, LeakCheckSection
from reporter.report.sections.report_document import Report
from reporter.report.sections.verdict import Verdict
from templates.issue import render_issue
from templates.page import render_page
from templates.regression import render_test
from tests.support.places import DATA

OUTGOING = DATA / "outgoing"
CRASH, GRADIENT = "honest_crash", "honest_gradient"
GIT = "cf30153c4c131c8164ee7798e5022d810682e2cb"
ENVIRONMENT: dict[str, Any] = {
    "torch": "2.13.0+cpu",
    "git": GIT,
    "debug": False,
    "cuda": None,
    "hip": None,
    "python": "3.11.7",
    "implementation": "CPython",
    "bits": 64,
    "os": "Debian GNU/Linux 12 (bookworm) (Linux 6.1.0)",
    "machine": "x86_64",
    "libc": "glibc-2.36",
    "cpu": "Intel(R) Xeon(R) Processor",
    "cores": 2,
    "threads": 2,
    "cpu_capability": "AVX512",
    "compiler": "g++ 12.2.0",
    "gpus": [],
    "driver": None,
    "cudnn": None,
    "packages": {"numpy": "2.4.6"},
    "variables": {"OMP_NUM_THREADS": "1"},
    "configs": {"torch._inductor.config.fallback_random": True},
    "caches": {"fx_graph_cache": True},
}
# What a traceback through torch shows; in a run it comes from
# collectors.machine.internal_names.collect_internal_names.
INTERNALS = (
    "example_inputs compile_fx compiler_fn compiled_fn fake_mode gm joint_graph extra_check".split()
)


def text(name: str) -> str:
    return (OUTGOING / f"{name}.txt").read_text(encoding="utf-8")


def secrets(name: str) -> list[str]:
    found: list[str] = json.loads((OUTGOING / "secrets.json").read_text(encoding="utf-8"))[name]
    return found


def torch_vocabulary() -> frozenset[str]:
    return frozenset(text("torch_vocabulary").split())


def crash_report() -> Report:
    verdict = Verdict(
        Kind.CRASH,
        Layer.INDUCTOR,
        True,
        "torch.compile raises RuntimeError in a joint graph pass",
        "1:ab12cd34",
        "RuntimeError",
        "Not all inputs to pattern found in match.kwargs",
        (3, 3),
    )
    ladder = (
        RungRow("eager", RungOutcome.OK),
        RungRow("aot_eager", RungOutcome.OK),
        RungRow("aot_eager_decomp_partition", RungOutcome.OK),
        RungRow("inductor", RungOutcome.RAISES, "RuntimeError"),
        RungRow("inductor, dynamic=True", RungOutcome.RAISES, "TypeError | x"),
        RungRow("fallback_random", RungOutcome.RAISES),
    )
    info = ReproInfo(
        "repro.py", 3, 24, ("torch.sigmoid_", "torch.randperm", "torch.take"), True, 31, 21.4
    )
    return Report(
        verdict,
        ladder,
        "2.13.0",
        "3.11.7",
        "cpu",
        Requires(),
        info,
        tuple(choose_labels(verdict.kind, verdict.layer, verdict.is_bug)),
        (),
        LeakCheckSection(True, 120),
    )


def gradient_report() -> Report:
    message = "wrong gradient: eager is off by 0 from float64, compiled by 0.005152"
    verdict = Verdict(
        Kind.WRONG_GRADIENT,
        Layer.AOT_AUTOGRAD,
        True,
        "low precision",
        "1:ab",
        "AssertionError",
        message,
        (3, 3),
    )
    ladder = (
        RungRow("eager", RungOutcome.OK, "", None, None, 0.0),
        RungRow("aot_eager", RungOutcome.DIFFERS, "", 0.0123456, 0.005152, 0.0),
        RungRow("inductor", RungOutcome.DIFFERS, "", 0.0123456, 0.005152, 0.0),
    )
    needs = Requires(backward=True, contexts=('torch.autocast("cpu", dtype=torch.bfloat16)',))
    info = ReproInfo("repro.py", 1, 40, ("torch.matmul",), True, 12, 9.0)
    return Report(
        verdict, ladder, "2.13.0", "3.11.7", "cpu", needs, info, (), (), LeakCheckSection(True, 120)
    )


def with_issue(report: Mapping[str, Any], **said: Any) -> dict[str, Any]:
    """The document with an issue that says so."""
    environment = build_section(EnvironmentSection, ENVIRONMENT)
    section = IssueSection(environment=environment, version="0.1.0")
    return {**report, "issue": {**section.to_json(), **said}}


def files(report: Report, repro: str, log: str) -> dict[str, str]:
    document = with_issue(
        report.to_json(),
        error_log=log,
        releases={"2.6.0": "right"},
        key=report.verdict.signature,
    )
    return {
        "report.json": report.dumps(),
        "repro.py": repro,
        "issue.md": render_issue(document, repro),
        "test_repro.py": render_test(summarize_failure(report), repro),
        "report.html": render_page(document, repro),
    }


@functools.cache
def honest_files(name: str) -> Mapping[str, str]:
    """The files of a report that holds nothing of the private programs."""
    if name == CRASH:
        return files(crash_report(), text(CRASH), text("crash_log"))
    return files(
        gradient_report(), text(GRADIENT), "AssertionError: wrong gradient: compiled by 0.005152"
    )
