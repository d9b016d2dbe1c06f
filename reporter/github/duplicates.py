"""Has somebody reported this already? Candidates come from three searches, and each is shown with the reasons that speak for it.

A search finds words; whether two issues are one bug is decided by evidence in their text, which is weighed here. Nothing is
decided for the person who files, and a search that fails costs the list, never the report.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from github.Issue import Issue

from reporter.errors import BugreportError
from reporter.github.parcel import Parcel
from reporter.github.place import Repository
from reporter.github.plain import plain, plain_line
from reporter.github.session import Session
from reporter.store.database import opened
from reporter.store.filings import State, filings
from reporter.store.reports import alike

#: From here on a candidate is called likely.
LIKELY = 0.6
_SHOWN = 5
_PER_SEARCH = 10
_QUERY_LIMIT = 250  # the search API takes 256 characters
_EVERYDAY = frozenset(
    """torch.compile torch.nn.Module torch.Tensor torch.tensor torch.randn torch.rand torch.ones torch.zeros
    torch.manual_seed torch.empty torch.full torch.arange view reshape add mul sub to float""".split()
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{3,}")
_KEY = re.compile(r"<!-- bugreport-fingerprint: (v\d+:[0-9a-f]{16}) -->")


@dataclass(frozen=True)
class Candidate:
    """An issue, or a report of one's own without one, that may be the same bug. `score` is between 0 and 1."""

    score: float
    reasons: tuple[str, ...]
    title: str
    url: str
    number: int | None = None
    state: str = ""

    @property
    def is_likely(self) -> bool:
        return self.score >= LIKELY

    def to_json(self) -> dict[str, Any]:
        """The entry of the document."""
        return {
            "number": self.number,
            "url": self.url,
            "title": self.title,
            "state": self.state,
            "score": round(self.score, 2),
            "likely": self.is_likely,
            "reasons": list(self.reasons),
        }


@dataclass(frozen=True)
class Duplicates:
    """The candidates, the most likely first; `trouble` says which search gave no answer."""

    candidates: tuple[Candidate, ...] = ()
    trouble: tuple[str, ...] = ()

    @property
    def likely(self) -> tuple[Candidate, ...]:
        return tuple(item for item in self.candidates if item.is_likely)

    @property
    def to_comment_on(self) -> Candidate | None:
        """The open issue that a comment would go to."""
        found = (c for c in self.likely if c.number is not None and c.state != "closed")
        return next(found, None)


def find_duplicates(
    session: Session | None, repository: Repository, parcel: Parcel, store: Path | None = None
) -> Duplicates:
    """Searches the store, and the tracker where there is a session. Raises nothing that the tracker or the store causes."""
    found: dict[str, Candidate] = {}
    trouble: list[str] = []
    try:
        found.update((item.url, item) for item in _in_store(parcel, repository, store))
    except BugreportError as error:
        trouble.append(str(error))
    for query in queries(repository, parcel) if session is not None else ():
        assert session is not None
        try:
            for item in _on_tracker(session, query, parcel):
                found.setdefault(item.url, item)
                if item.score > found[item.url].score:
                    found[item.url] = item
        except BugreportError as error:
            trouble.append(str(error))
            break  # the search has a budget of its own; what used it up will not give more
    ranked = sorted(found.values(), key=lambda item: (-item.score, item.number or 0))
    shown = [item for item in ranked if item.score > 0.15][:_SHOWN]
    return Duplicates(tuple(shown), tuple(trouble))


def queries(repository: Repository, parcel: Parcel) -> list[str]:
    """What the tracker is asked, the most telling first; each within the limit of the search API."""
    place = f"repo:{repository.full_name} is:issue"
    asked = []
    if parcel.stored.fingerprint:
        digits = parcel.stored.fingerprint.partition(":")[2]
        asked.append(f'{place} in:body "{digits}"')
    exception, words = _exception(parcel), _message_words(parcel)
    if exception and words:
        asked.append(_within(f"{place} {exception}", words[:5]))
    operators = _telling_operators(parcel)
    if operators:
        asked.append(_within(f"{place} torch.compile", [_last(name) for name in operators[:4]]))
    return asked


def weigh(parcel: Parcel, title: str, body: str, labels: Iterable[str]) -> tuple[float, list[str]]:
    """How much speaks for an issue being the same bug, between 0 and 1, and what."""
    text = f"{title}\n{body}"
    if f"<!-- {parcel.marker} -->" in body:
        return 1.0, ["it is this report"]
    mark = _KEY.search(body)
    if mark and mark.group(1) == parcel.stored.fingerprint:
        return 0.95, [
            "a report of the same failure: layer, exception and torch frames or operators agree"
        ]
    score, reasons = 0.0, []
    for part, reason in (
        _frames_in(parcel, text),
        _message_in(parcel, text),
        _operators_in(parcel, text),
        _layer_in(parcel, title, labels),
    ):
        score += part
        reasons += [reason] if part else []
    return min(score, 0.9), reasons


def _frames_in(parcel: Parcel, text: str) -> tuple[float, str]:
    exception = _exception(parcel)
    if not exception or not re.search(rf"\b{re.escape(exception)}\b", text):
        return 0.0, ""
    innermost = [part for part in _parts(parcel) if re.match(r"torch/.*:\w+$", part)]
    for frame in innermost[:1]:
        file, _, function = frame.rpartition(":")
        if re.search(rf'{re.escape(file)}", line \d+, in {re.escape(function)}\b', text):
            return 0.55, f"`{exception}` in {frame}"
    return 0.15, f"`{exception}`"


def _message_in(parcel: Parcel, text: str) -> tuple[float, str]:
    wanted = _message_words(parcel)
    if len(wanted) < 3:
        return 0.0, ""
    spoken = {word.lower() for word in _WORD.findall(text)}
    share = sum(word.lower() in spoken for word in wanted) / len(wanted)
    if share < 0.7:
        return 0.0, ""
    return 0.35 * share, "the words of the error message"


def _operators_in(parcel: Parcel, text: str) -> tuple[float, str]:
    """Operators that few programs have, each in the text; the more of them agree, the more it says."""
    wanted = _telling_operators(parcel)
    there = [name for name in wanted if re.search(rf"\b{re.escape(_last(name))}\b", text)]
    if not there:
        return 0.0, ""
    share = len(there) / len(wanted)
    return 0.45 * share, "the operators " + ", ".join(_last(name) for name in there[:4])


def _layer_in(parcel: Parcel, title: str, labels: Iterable[str]) -> tuple[float, str]:
    shared = sorted(
        set(map(str.lower, labels)) & {label.lower() for label in parcel.labels if ":" in label}
    )
    if shared:
        return min(0.2, 0.1 * len(shared)), "the labels " + ", ".join(shared)
    layer = parcel.stored.layer
    if layer not in ("", "none") and layer.lower() in title.lower():
        return 0.05, f"{layer} in the title"
    return 0.0, ""


def _in_store(parcel: Parcel, repository: Repository, path: Path | None) -> Iterator[Candidate]:
    """Reports of one's own with the same fingerprint, filed or not."""
    reason = (
        "your own report of the same failure: layer, exception and torch frames or operators agree"
    )
    with opened(path) as store:
        for report in alike(store, parcel.stored):
            known = [
                item
                for item in filings(store, report.key)
                if item.place == str(repository) and item.state is State.CONFIRMED
            ]
            if known and known[0].url:
                yield Candidate(0.95, (reason,), report.title, known[0].url, known[0].number)
            else:
                yield Candidate(0.9, (f"{reason}; not filed here",), report.title, report.folder)


def _on_tracker(session: Session, query: str, parcel: Parcel) -> Iterator[Candidate]:
    with session.calling(f"search for duplicates in {query.split()[0].removeprefix('repo:')}"):
        results: Iterable[Issue] = session.github.search_issues(query)
        for issue in itertools.islice(results, _PER_SEARCH):
            labels = [plain_line(label.name) for label in issue.labels]
            title, body = plain_line(issue.title or "", 150), plain(issue.body or "")
            score, reasons = weigh(parcel, title, body, labels)
            yield Candidate(
                score, tuple(reasons), title, plain_line(issue.html_url), issue.number, issue.state
            )


def _exception(parcel: Parcel) -> str:
    verdict = parcel.document.get("verdict") or {}
    return str(verdict.get("exception") or "").rpartition(".")[2]


def _message_words(parcel: Parcel) -> list[str]:
    """The words of the message that do not change from program to program, without repetition."""
    message = str((parcel.document.get("verdict") or {}).get("message") or "")
    if not _exception(parcel):
        return []
    words = [word for word in _WORD.findall(message) if not re.search(r"\d", word)]
    return list(dict.fromkeys(words))[:10]


def _telling_operators(parcel: Parcel) -> list[str]:
    operators: Sequence[str] = (parcel.document.get("repro") or {}).get("operators") or ()
    return [name for name in map(str, operators) if name not in _EVERYDAY]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _parts(parcel: Parcel) -> list[str]:
    found = parcel.document.get("fingerprint") or {}
    return [str(part) for part in found.get("parts") or ()]


def _within(query: str, words: Iterable[str]) -> str:
    for word in words:
        if len(query) + len(word) + 1 <= _QUERY_LIMIT:
            query += f" {word}"
    return query
