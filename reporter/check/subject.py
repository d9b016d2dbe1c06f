"""A repro is its text and what it has to show: the signature of its report, or else just that it
fails.

Its key is the hash of its text, also in the store: a file that is edited is another repro, one that
is moved is not.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sqlite3
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from reporter.core.errors import UsageError
from reporter.core.kinds import CRASHES, Kind
from reporter.core.signature import Signature, normalize, sign_assertion
from reporter.report.folder import REPORT, REPRO
from reporter.report.reading import load_report
from reporter.report.sections.report_document import Report
from reporter.store.reports import compute_key, list_reports
from reporter.triage.reading.stated_failure import StatedFailure

#: Files of a folder of tests that are none.
_NO_REPROS = ("__init__.py", "conftest.py", "setup.py")


@dataclass(frozen=True)
class IssueOrigin:
    """What makes a program one that somebody else wrote, which runs in the sandbox unless it is to
    be trusted.

    `issue` is the address of its issue, empty for one in a file; `stated` is what that says goes
    wrong, which takes the place of a signature. `modules` are what the program imports beside
    torch.
    """

    issue: str
    stated: StatedFailure
    modules: tuple[str, ...] = ()
    trust: bool = False


@dataclass(frozen=True)
class CheckSubject:
    """A repro to be checked.

    `wanted` is the failure it has to show; None means that any failure counts until the first one
    has been seen. `seen` says in how many of how many runs it failed when it was reported; `torch`
    is the release it was reported for. `origin` is set for a program of somebody else's; `problem`
    is why there is nothing to run.
    """

    name: str
    key: str
    text: str
    wanted: Signature | None = None
    seen: tuple[int, int] = (0, 0)
    torch: str | None = None
    origin: IssueOrigin | None = None
    problem: str = ""

    @property
    def needs_cuda(self) -> bool:
        """Whether the program computes on a GPU; a fork of a warm process could not."""
        return re.search(r"""cuda(?!\s*=\s*False)|["']cuda(:\d+)?["']""", self.text) is not None


def read_subject(name: str) -> CheckSubject:
    """The repro that a word of the command line means: a file, or a report folder.

    Issues are read by `reporter.check.issue_subject`.

    Raises:
        UsageError: there is no such thing, or it cannot be read.
    """
    path = Path(name)
    if path.is_dir():
        return _read_report_subject(path, name)
    if not path.is_file():
        raise UsageError(
            f"there is no file or report folder {name}; give a repro file, the folder of a report,"
            " or an issue as OWNER/REPO#N"
        )
    text = _read_text(path)
    if _is_empty(text):
        raise UsageError(
            f"{path} holds no statement, so that it asks nothing; give a repro file or a report"
            " folder"
        )
    return CheckSubject(name, compute_key(text), text)


def read_subjects(paths: Sequence[str]) -> Iterator[CheckSubject]:
    """The repros of files, report folders, and folders that hold such; each text once.

    One that a folder holds and that cannot be read is told among the results.

    Raises:
        UsageError: a path holds none, or is one that cannot be read.
    """
    seen: set[str] = set()
    for text in paths:
        for name in _list_subject_names(text):
            try:
                subject = read_subject(name)
            except UsageError as error:
                if name == text:
                    raise
                subject = CheckSubject(name, compute_key(name), "", problem=str(error))
            if subject.key not in seen:
                seen.add(subject.key)
                yield subject


def _list_subject_names(text: str) -> Iterable[str]:
    path = Path(text)
    if not path.is_dir() or (path / REPORT).exists() or (path / REPRO).exists():
        return [text]
    # other programs have files called report.json, too
    reports = [folder for folder, names in _walk(path) if REPORT in names and REPRO in names]
    lone = [
        folder / name
        for folder, names in _walk(path)
        if not any(report in (folder, *folder.parents) for report in reports)
        for name in sorted(names)
        if name.endswith(".py") and name not in _NO_REPROS
    ]
    if not reports and not lone:
        raise UsageError(f"{text} holds no report and no repro; give the folder that does")
    return [*map(str, reports), *map(str, lone)]


def _walk(root: Path) -> Iterator[tuple[Path, frozenset[str]]]:
    """Each folder below `root` with the names of its files, in order; not those that are hidden,
    nor an environment of Python.
    """
    for folder, inner, names in os.walk(root):
        inner[:] = sorted(
            name
            for name in inner
            if not name.startswith(".") and not Path(folder, name, "pyvenv.cfg").exists()
        )
        yield Path(folder), frozenset(names)


def read_stored_subjects(store: sqlite3.Connection) -> Iterator[CheckSubject]:
    """The repros of all reports in the store; a folder that is gone, or that another report has
    taken, is no loss, since the text is kept.

    Raises:
        UsageError: a row of the store is of another version.
    """
    for stored in sorted(list_reports(store), key=lambda item: (item.created, item.key)):
        folder = Path(stored.folder)
        report = _load_own_report(folder, stored.key)
        wanted = (
            read_report_failure(report)
            if report
            else _parse_signature(stored.kind, stored.signature)
        )
        seen = report.verdict.reproduced if report else (0, 0)
        name = stored.title or folder.name
        yield CheckSubject(name, stored.key, stored.repro, wanted, seen, stored.torch)


def _load_own_report(folder: Path, key: str) -> Report | None:
    """The report of a folder, if that of the repro with this key still lies there."""
    with contextlib.suppress(UsageError):
        return load_report(folder) if compute_key(_read_text(folder / REPRO)) == key else None
    return None


def _read_report_subject(folder: Path, name: str) -> CheckSubject:
    text = _read_text(folder / REPRO)
    report = load_report(folder)
    if report is None:
        return CheckSubject(name, compute_key(text), text)
    seen, torch = report.verdict.reproduced, report.torch or None
    return CheckSubject(name, compute_key(text), text, read_report_failure(report), seen, torch)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")  # as Python reads it
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise UsageError(
            f"{path} cannot be read ({why}); give a repro file or a report folder"
        ) from None


def _is_empty(text: str) -> bool:
    """Whether a program has nothing but comments and line ends."""
    skipped = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER)
    try:
        return all(
            token.type in skipped for token in tokenize.generate_tokens(io.StringIO(text).readline)
        )
    except (tokenize.TokenError, SyntaxError):
        return False  # which its run says


def read_report_failure(report: Report) -> Signature | None:
    """The failure a report is about: as its fresh processes showed it, else as well as its verdict
    tells.
    """
    if report.failure is not None:
        return report.failure.to_signature()
    verdict = report.verdict
    if verdict.kind in CRASHES:
        line = normalize(verdict.message) if verdict.message else None
        return Signature(Kind.CRASH, verdict.layer, verdict.exception, line)
    if verdict.kind == Kind.PROCESS_DEATH:
        return Signature(verdict.kind, signal=verdict.exception)
    if verdict.kind == Kind.HANG:
        return Signature(verdict.kind)
    return sign_assertion(str(verdict.message)) or _parse_signature(verdict.kind, verdict.signature)


def _parse_signature(kind: Kind | None, text: str) -> Signature | None:
    """As much of a signature as its one line holds."""
    parts = text.split(" · ")
    if kind == Kind.WRONG_METADATA:
        return Signature(kind, property=parts[-1] if len(parts) > 1 else None)
    if kind == Kind.PROCESS_DEATH:
        return Signature(
            kind, signal=next((part for part in parts if part.startswith("SIG")), None)
        )
    if kind is None or kind in (*CRASHES, Kind.UNSUPPORTED):
        return None  # a class alone would take any crash for this one; the first one seen says more
    return Signature(kind)
