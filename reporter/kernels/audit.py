"""The audit of a Triton kernel's report: the same files as any other, from a document whose ladder
is made of targets.

The leak check has Triton's own words instead of torch's, since it is Triton's sources that a
traceback quotes. Numbers of the private kernel that the failure needs are listed, as sizes are
elsewhere; one that turns up anywhere else withholds the report.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from anonymizer.leakcheck.audit import Identity, Terms, count_terms, private_terms
from reporter.core.kinds import Layer
from reporter.core.version import VERSION
from reporter.kernels.verdict import same_words
from reporter.publish.allow_list import (
    GATE,
    AllowList,
    check_outgoing,
    public_values,
    refuse_leaks,
)
from reporter.publish.documents import render
from reporter.publish.form import choose
from reporter.publish.rerender import for_later
from reporter.publish.summary import Summary
from reporter.publish.surroundings import find_terms
from reporter.publish.versions import collect
from reporter.publish.write import Destination, Outgoing
from reporter.report.fingerprint import Fingerprint
from reporter.report.sections import AuditSummary, Report
from reporter.store.reports import key_of
from templates.material import IssueMaterial


@dataclass(frozen=True)
class KernelTexts:
    """The repro, its regression test, and what the compiler wrote when it failed."""

    repro: str
    test: str
    log: str


@dataclass(frozen=True)
class FinishedKernel:
    """A reduced kernel: the report's numbers, the texts, and what stays on this machine.

    `source` is the private script, `compiled` the target's answer about it (see
    `collectors.triton.run`).
    """

    report: Report
    texts: KernelTexts
    source: str
    compiled: Mapping[str, object]
    private: Mapping[str, str]
    left_out: tuple[str, ...] = ()


def audit(
    to: Destination, finished: FinishedKernel, script: str, note: Callable[[str], None]
) -> Outgoing:
    """Renders, lints and audits the report; `script` is the path of the private program, `note`
    gets what the lint found.

    Raises LeakError, and then no outgoing file is written; UsageError where a form of the user's
    own cannot be filled in.
    """
    options, info, output = to.issue, to.info, to.output
    own, left = _terms(options.keep_source, script, finished)
    identity = Identity.of_this_machine()
    versions = collect(info.path)
    environment = versions.environment
    words = _strings(finished.compiled.get("vocabulary"))
    terms = own.join(find_terms(to.cwd, environment, versions.withheld, words))
    public = public_values(environment, environment.get("git"), info.torch_git)
    allowing = AllowList(terms, _strings(finished.compiled.get("internals")), public)
    form = choose(options, Layer.TRITON)
    report = replace(
        finished.report,
        labels=form.allow(("bug",)),
        audit=AuditSummary(True, count_terms(terms, identity), ()),
        sizes_left=tuple(left),
        fingerprint=_fingerprint(finished.report).section(),
        timing=to.timing or None,
        not_measured=to.not_measured or None,
    )
    material = IssueMaterial(
        repro=finished.texts.repro,
        environment=environment,
        version=VERSION,
        error_log=finished.texts.log,
        human_words=options.summary or "",
        key=key_of(finished.texts.repro),
        form=form.public_name,
    )
    report, files = render(report, material, form, finished.texts.test, note)
    result = check_outgoing(
        files,
        terms,
        internals=allowing.internals,
        identity=identity,
        allowed=(*allowing.allowed, material.key),
    )
    private = {**finished.private, GATE: allowing.dumps(), **for_later(form, files)}
    refuse_leaks(result.findings, "no report was written", output)
    return Outgoing(Summary(report, output, str(info.path), to.place(form)), files, private)


def _terms(is_public: bool, script: str, finished: FinishedKernel) -> tuple[Terms, list[float]]:
    """What the report is searched for, and the numbers of the private script that its repro still
    needs.
    """
    public = frozenset(_strings(finished.compiled.get("vocabulary")))
    if is_public:
        return private_terms({}, public), []
    terms = private_terms({script: finished.source}, public)
    identifying = {*terms.numbers, *terms.code_numbers}
    constants = (
        node.value
        for node in ast.walk(ast.parse(finished.texts.repro))
        if isinstance(node, ast.Constant)
    )
    numbers = {abs(float(value)) for value in constants if isinstance(value, (int, float))}
    left = sorted(numbers & identifying)
    return terms.without_numbers(left), left


def _strings(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ()


def _fingerprint(report: Report) -> Fingerprint:
    """By what the compiler says and where; a failure without words is like no other."""
    verdict, triton = report.verdict, report.triton or {}
    words = same_words(verdict.message or "")
    if not words and not triton.get("pass"):
        return Fingerprint()
    # the same pass has a name of its own in each backend
    place = re.sub(r"AMD|NVIDIA", "", str(triton.get("pass") or ""))
    return Fingerprint((Layer.TRITON, verdict.kind, str(verdict.exception), place, words))
