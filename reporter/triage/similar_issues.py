"""Other issues that may be the same bug: what was judged in the sandbox is looked for as a report
of our own would be.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from reporter.core.errors import BugreportError
from reporter.report.fingerprint import Fingerprint
from reporter.store.database import format_now
from reporter.store.reports import StoredReport, compute_key
from reporter.tracker.duplicates import find_duplicates
from reporter.tracker.failure_facts import FailureFacts, ReportedFailure
from reporter.tracker.http_session import TrackerSession
from reporter.tracker.repository import Repository
from reporter.triage.result import Triage

#: What programs that show a bug call around the operators.
_AROUND = frozenset(
    """print assert_close allclose equal item tolist numpy cpu cuda is_available reset eval train
    manual_seed assertEqual super range len enumerate zip append format join backward no_grad
    requires_grad_ set_grad_enabled default_rng""".split()
)


def add_duplicates(
    result: Triage, session: TrackerSession | None, repository: Repository | None
) -> Triage:
    """The result with its candidates; as it is where nothing was judged or no project is known.

    A search that fails costs the list, not the triage, and is told in a note.

    Args:
        session: with the host of the project; None: only the store is searched.
        repository: the project to search; None: that of the issue.
    """
    address = result.thread.address
    place = repository or (address.repository if address else None)
    if result.judged is None or place is None:
        return result
    try:
        found = find_duplicates(session, place, _build_failure(result))
    except BugreportError as error:
        return replace(result, notes=(*result.notes, str(error)))
    # a tracker takes names in any case
    own = address.url.lower() if address else None
    others = tuple(c for c in found.candidates if c.url.lower() != own)
    return replace(result, duplicates=others, notes=(*result.notes, *found.trouble))


def _build_failure(result: Triage) -> ReportedFailure:
    judged, minimal = result.judged, result.minimal
    assert judged is not None
    text = minimal.text if minimal else ""
    mark = Fingerprint.from_json(judged.marks.fingerprint)
    stored = StoredReport(
        key=compute_key(text or result.thread.name),
        created=format_now(),
        folder="",
        title=result.thread.title,
        kind=judged.kind,
        layer=judged.layer,
        signature=judged.marks.signature,
        fingerprint=mark.value,
        torch=result.runs[0].torch,
        repro=text,
    )
    operators = judged.repro.operators or (
        list_called_operators(result.repro.text) if result.repro else ()
    )
    facts = FailureFacts(judged.marks.exception, judged.marks.message, tuple(operators), mark.parts)
    return ReportedFailure(facts, result.labels, stored)


def list_called_operators(text: str) -> tuple[str, ...]:
    """Names of what the functions of a posted program call, each once: what is known of it while it
    is not reduced.
    """
    tree = ast.parse(text)
    own = {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    found: dict[str, None] = {}
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.Lambda)):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name = node.func.attr
                if name not in own | _AROUND and not name.startswith("__"):
                    found[_read_dotted_name(node.func) or name] = None
    return tuple(found)[:12]


def _read_dotted_name(node: ast.Attribute) -> str:
    """`torch.nn.functional.pad`; empty for a method."""
    text = ast.unparse(node)
    return text if text.startswith(("torch.", "F.")) and "(" not in text else ""
