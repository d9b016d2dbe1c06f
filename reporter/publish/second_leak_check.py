"""The leak check once more, when a report is sent: the text on the disk may have been edited since
it was written.

What belongs to the private program, a credential or a name of this machine is refused. An address
or a path that a person added may be there on purpose, so it is pointed out and not refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from anonymizer.leakcheck.scanner import Identity, Leak, Terms, collect_private_terms
from reporter.core.json_values import Json
from reporter.publish.leak_check import AllowList, check_outgoing, refuse_leaks, split_doubtful
from reporter.report.folder import ALLOW_LIST, MAPPING, OLD_ALLOW_LIST, PRIVATE, REPRO


@dataclass(frozen=True)
class RecheckResult:
    """What the check found that may stay, and what of the private program it did not know, so that
    it was `not_searched` for (`private/` may be gone).
    """

    doubtful: tuple[Leak, ...]
    terms_checked: int
    not_searched: str = ""


def recheck(
    folder: Path, files: Mapping[str, str], *, allowed: Iterable[str] = (), public: bool = False
) -> RecheckResult:
    """Searches the texts that are about to leave for what `private/` says is private.

    Args:
        folder: the report folder.
        files: name -> final text.
        allowed: public values that look like credentials.
        public: the program is public; its words are not looked for.

    Raises:
        LeakError: something private was found. The sentence quotes nothing; `private/leaks.json`
            does.
    """
    private = folder / PRIVATE
    known = AllowList.load(private / ALLOW_LIST) or AllowList.load(private / OLD_ALLOW_LIST)
    allowing = known or _build_from_mapping(folder)
    terms = Terms() if public or allowing is None else allowing.terms
    found = check_outgoing(
        files,
        terms,
        internals=allowing.internals if allowing else (),
        identity=Identity.from_this_machine(),
        allowed=(*allowed, *(allowing.allowed if allowing else ())),
    )
    refused, doubtful = split_doubtful(found.findings)
    refuse_leaks(refused, "nothing was sent", private)
    missing = "the words of your program" if allowing is None else "its texts, numbers and comments"
    return RecheckResult(
        doubtful, found.terms_checked, "" if public or known is not None else missing
    )


def _build_from_mapping(folder: Path) -> AllowList | None:
    """What the mapping alone knows, where the allow-list is gone: the names that have a public
    counterpart.
    """
    repro = folder / REPRO
    # without torch's vocabulary, a name that the repro uses counts as torch's
    shown = set(re.findall(r"\w+", repro.read_text(encoding="utf-8"))) if repro.is_file() else set()
    names = set(_list_strings(_read_object(folder / PRIVATE / MAPPING)))
    own = sorted(name for name in names - shown if name.isidentifier())
    if not own:
        return None
    # a program that defines them, so that they get the reach that defined names have
    text = "".join(f"{name} = None\n" for name in own)
    return AllowList(collect_private_terms({"names.py": text}, frozenset()), (), ())


def _list_strings(value: object) -> Iterator[str]:
    """The private side of a mapping: every value, and the last part of every dotted one."""
    if isinstance(value, str):
        yield from (part for part in value.split(".") if part)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _list_strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _list_strings(item)


def _read_object(path: Path) -> Json:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
