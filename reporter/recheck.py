"""The leak check once more, when a report is sent: the text on the disk may have been edited since it was written.

What belongs to the private program, a credential or a name of this machine is refused. An address or a path that a person
added may be there on purpose, so it is pointed out and not refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonymizer.audit import Finding, Identity, private_terms
from reporter.errors import LeakError, UsageError
from reporter.folder import write_private
from reporter.outgoing import GATE, check_outgoing
from reporter.recorded import Recorded

RECORDING = "recording.json"
MAPPING = "mapping.json"
LEAKS = "leaks.json"
_ON_PURPOSE = frozenset({"URL", "e-mail address", "IP address", "path"})


@dataclass(frozen=True)
class Rechecked:
    """What the check found that may stay, and whether it knew the private program (`private/` may be gone)."""

    doubtful: tuple[Finding, ...]
    terms_checked: int
    knows_program: bool


def recheck(
    folder: Path, files: Mapping[str, str], *, allowed: Iterable[str] = (), public: bool = False
) -> Rechecked:
    """Searches the texts that are about to leave for what `private/` says is private.

    Args:
        folder: the report folder.
        files: name -> final text.
        allowed: public values that look like credentials.
        public: the program is public; its words are not looked for.

    Raises:
        LeakError: something private was found. The sentence quotes nothing; `private/leaks.json` does.
    """
    private = folder / "private"
    known = _object(private / GATE)
    program = _program(private, files)
    public = public or known.get("keep_source") is True
    terms = private_terms(
        {} if public else program.sources, program.vocabulary, sizes=() if public else program.sizes
    ).excusing(known.get("numbers") or ())
    permitted = (*allowed, *map(str, known.get("allowed") or ()), *program.revisions)
    found = check_outgoing(
        files,
        terms,
        internals=program.internals,
        identity=Identity.of_this_machine(),
        allowed=permitted,
    )
    refused = [finding for finding in found.findings if finding.kind not in _ON_PURPOSE]
    if refused:
        _refuse(private, refused)
    return Rechecked(found.findings, found.terms_checked, public or program.known)


@dataclass(frozen=True)
class _Program:
    """What is left of the private program in `private/`."""

    sources: Mapping[str, str]
    vocabulary: frozenset[str]
    internals: tuple[str, ...]
    revisions: tuple[str, ...]
    known: bool
    sizes: frozenset[int] = frozenset()


def _program(private: Path, files: Mapping[str, str]) -> _Program:
    names = sorted(_strings(_object(private / MAPPING)))
    try:
        recorded = Recorded.load(private / RECORDING)
    except UsageError:
        # torch's vocabulary is gone too, so a name that the repro itself uses counts as torch's
        shown = files.get("repro.py", "")
        names = [name for name in names if name.isidentifier() and name not in shown]
        return _Program(_as_source(names), frozenset(), (), (), bool(names))
    own = [name for name in names if name.isidentifier()]
    revision = recorded.environment.get("git")
    return _Program(
        {**recorded.sources, **_as_source(own)},
        recorded.public_words(),
        recorded.internals,
        (str(revision),) if revision else (),
        True,
        recorded.sizes(),
    )


def _as_source(names: list[str]) -> dict[str, str]:
    """Names as the text of a program that defines them: the terms then get the reach that defined names have."""
    return {"names.py": "".join(f"{name} = None\n" for name in names)} if names else {}


def _strings(value: object) -> Iterator[str]:
    """The private side of a mapping: every value, and the last part of every dotted one."""
    if isinstance(value, str):
        yield from (part for part in value.split(".") if part)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


def _refuse(private: Path, refused: list[Finding]) -> None:
    rows = [
        {"file": f.file, "line": f.line, "term": f.term, "kind": f.kind, "excerpt": f.excerpt}
        for f in refused
    ]
    try:
        private.mkdir(mode=0o700, exist_ok=True)
        write_private(private / LEAKS, json.dumps(rows, indent=2, ensure_ascii=False))
        where = f"; the list is in {private / LEAKS}"
    except OSError:
        where = ""
    first = refused[0]
    count = len(refused)
    kinds = ", ".join(sorted({finding.kind for finding in refused}))
    raise LeakError(
        f"the leak check found {count} private {'term' if count == 1 else 'terms'} ({kinds}) in what would be sent, the first "
        f"in line {first.line} of {first.file}, so nothing was sent{where}"
    )


def _object(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
