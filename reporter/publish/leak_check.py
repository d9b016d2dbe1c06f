"""The leak check of the outgoing files: each of them is held against the private program, byte by
byte.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, get_args

from anonymizer.leakcheck.patterns import LeakKind
from anonymizer.leakcheck.scanner import (
    Identity,
    Leak,
    LeakCheckResult,
    OwnText,
    Terms,
    collect_private_terms,
    find_leaks,
)
from anonymizer.leakcheck.terms import TermSet
from anonymizer.leakcheck.vocabulary import collect_constants, collect_fixed_text
from reporter.core.errors import LeakError
from reporter.core.kinds import Kind, Layer
from reporter.lint.linter import RULES
from reporter.lint.rule import Weight
from reporter.report.folder import (
    ISSUE,
    PAGE,
    REPORT,
    REPRO,
    TEST,
    TRACE,
    write_private,
)
from reporter.report.sections import (
    check_document,
    debugging_tools,
    details,
    finished_repro,
    measurements,
    outgoing,
    pictures,
    report_document,
    stages,
    verdict,
    whole_model,
)
from reporter.report.sections.base import Section
from templates import collect_literals, list_texts
from templates.charts import MARKUP
from templates.summaries import ALL_SUMMARIES
from templates.text import pluralize

#: In `private/`: what the leak check found.
LEAKS = "leaks.json"
#: An address or a path that a person added may be meant to leave, and so may those of others.
_ON_PURPOSE: frozenset[LeakKind] = frozenset(
    {"URL", "e-mail address", "IP address", "MAC address", "path"}
)
#: What begins the name of a kind of terms that are looked for in code alone.
_IN_CODE = "code_"
#: Kinds of terms that earlier releases did not write.
_OLD_TERMS: Mapping[str, list[str]] = {"compounds": [], f"{_IN_CODE}compounds": []}
#: In the Versions block: releases by the names of public packages.
_PACKAGES = ("packages", "conda")
_FOUR_PARTS = re.compile(r"\d+(?:\.\d+){3}")
#: The sections whose keys are ours. Of the machine and of kernels only those are that the templates
#: spell out.
OWN_SECTIONS = (
    check_document,
    debugging_tools,
    details,
    finished_repro,
    measurements,
    outgoing,
    pictures,
    report_document,
    stages,
    verdict,
    whole_model,
)
#: An attribute of a drawing that holds numbers and the letters of paths, and nothing else.
_GEOMETRY = re.compile(r'\s(?:d|points|transform)="[MLHVCSQTAZmlhvcsqtaz\d\s.,+-]*"')


def list_public_values(environment: Mapping[str, Any], *revisions: str | None) -> tuple[str, ...]:
    """What the Versions block has that looks like a credential or an address: revisions, and
    releases such as 11.10.3.66.
    """
    releases = (
        str(value) for name in _PACKAGES for value in dict(environment.get(name) or {}).values()
    )
    found = (*revisions, *filter(_FOUR_PARTS.fullmatch, releases))
    return tuple(dict.fromkeys(str(item) for item in found if item))


def _list_machine_words(environment: Mapping[str, Any]) -> tuple[str, ...]:
    """What the Versions block says of the kind of machine and which public packages it has, which
    is everybody's: a program that asks for `x86_64`, or imports one of the packages, would
    otherwise keep each of its reports from being written.

    Not the kernel's name, which its owner can choose.
    """
    system = str(environment.get("os") or "").partition(" (Linux ")[0]
    processor = environment.get("processor") or {}
    found = (
        system,
        *(environment.get(name) for name in ("machine", "implementation", "libc", "cpu")),
        environment.get("cpu_capability"),
        *(processor.get(name) for name in ("vendor", "flags")),
        *(environment.get("gpus") or ()),
        *(name for packages in _PACKAGES for name in environment.get(packages) or ()),
    )
    return tuple(str(name) for name in found if name)


def check_outgoing(
    files: Mapping[str, str],
    terms: Terms,
    *,
    internals: Iterable[str] = (),
    identity: Identity | None = None,
    allowed: Iterable[str] = (),
) -> LeakCheckResult:
    """Looks for private terms in the final texts of everything outside `private/`.

    Args:
        files: relative name -> text.
        terms: from `anonymizer.leakcheck.scanner.collect_private_terms`.
        internals: the words of torch's own tracebacks and the addresses in its messages, from the
            user's interpreter.
        identity: this machine's names; found out when not given.
        allowed: public values that look like credentials or addresses (see `list_public_values`).
    """
    internals = tuple(internals)
    ours = OwnText(
        code="\n".join(
            (collect_own_text(code=True), collect_fixed_text(), *Kind, *Layer, *ALL_SUMMARIES)
            + (ISSUE, PAGE, REPORT, REPRO, TEST, TRACE)
        ),
        prose="\n".join(
            (collect_own_text(), *(rule.text for rule in RULES), *_list_report_words(), *internals)
        ),
    )
    # where a line is drawn tells nothing that the texts of the picture do not, and there is a lot
    # of it
    read = {
        name: _GEOMETRY.sub("", text) if name.endswith(".html") else text
        for name, text in files.items()
    }
    who = identity or Identity.from_this_machine()
    public = (*allowed, *(word for word in internals if "://" in word))
    return find_leaks(read, terms, who, ours=ours, allowed=public)


@functools.lru_cache(maxsize=2)
def collect_own_text(code: bool = False) -> str:
    """All text of the templates that is ours whatever the program, so that a word found in it is no
    sign of a leak: what they put out, not what they are made of.

    A folder of the user's own is not: what it says may be private, and the leak check then says so.

    Args:
        code: only what gets into program files (the regression test), not what gets into issue and
            page.
    """
    found = map(collect_literals, list_texts(".py.j2" if code else ".j2"))
    if code:
        return "\n".join(found)
    return "\n".join((*found, *map(collect_constants, list_texts(".py")), *list_texts(".toml")))


@functools.lru_cache(maxsize=1)
def _list_report_words() -> frozenset[str]:
    """The keys of report.json, what a violation of the lint weighs, and what the pictures are drawn
    with.
    """
    modules = {module.__name__ for module in OWN_SECTIONS}
    own = (kind for kind in Section.__subclasses__() if kind.__module__ in modules)
    keys = (name for kind in own for name in kind.__struct_fields__)
    return frozenset((*keys, *get_args(Weight), *MARKUP))


def refuse_leaks(leaks: Sequence[Leak], lost: str, private: Path | None = None) -> None:
    """Ends the run where the leak check found something. The sentence quotes nothing private.

    Args:
        lost: what does not happen for it, as "no report was written".
        private: the folder that gets the list, made if it is not there; None: nobody gets it.

    Raises:
        LeakError: there is at least one leak.
    """
    if not leaks:
        return
    where = ""
    if private is not None:
        with contextlib.suppress(OSError):
            private.mkdir(mode=0o700, parents=True, exist_ok=True)
            rows = [asdict(leak) for leak in leaks]
            write_private(private / LEAKS, json.dumps(rows, indent=2, ensure_ascii=False))
            where = f"; the list is in {private / LEAKS}"
    first = leaks[0]
    kinds = ", ".join(sorted({leak.kind for leak in leaks}))
    raise LeakError(
        f"the leak check found {pluralize(len(leaks), 'private term')} ({kinds}), the"
        f" first in line {first.line} of {first.file}, so {lost}{where}"
    )


def split_doubtful(leaks: Iterable[Leak]) -> tuple[list[Leak], tuple[Leak, ...]]:
    """What the leak check found in a text that a person sees before it is sent: what is refused,
    and what may be there on purpose and is pointed out.
    """
    leaks = tuple(leaks)
    doubtful = tuple(leak for leak in leaks if leak.kind in _ON_PURPOSE)
    return [leak for leak in leaks if leak not in doubtful], doubtful


def describe_doubts(doubtful: Iterable[Leak]) -> tuple[str, ...]:
    """What a person should look at before they say yes.

    It quotes nothing: the text is on the screen anyway.
    """
    return tuple(
        f"line {leak.line} of {leak.file} has a {leak.kind}; is it meant to be there?"
        for leak in doubtful
    )


def refuse_if_private(comment: str) -> tuple[Leak, ...]:
    """Ends the run where a comment on a program of others names this machine or its user.

    Returns:
        What may be there on purpose, as a path of these others.

    Raises:
        LeakError: it does.
    """
    found = check_outgoing({"comment.md": comment}, collect_private_terms({}, frozenset(), ()))
    refused, doubtful = split_doubtful(found.findings)
    refuse_leaks(refused, "nothing was posted")
    return doubtful


@dataclass(frozen=True)
class AllowList:
    """What a report was held against when it was written; kept in `private/` and used again when it
    is sent.
    """

    terms: Terms
    internals: tuple[str, ...]
    allowed: tuple[str, ...]

    @classmethod
    def build(
        cls,
        terms: Terms,
        internals: Iterable[str],
        environment: Mapping[str, Any],
        *revisions: str | None,
    ) -> AllowList:
        """What a report with this Versions block, on these revisions of torch, is held against.

        Args:
            terms: private words and numbers.
            internals: the words of torch's own tracebacks and the addresses in its messages.
            environment: the Versions block; its words for the kind of machine are no leak.
            revisions: commits of torch; None: not known.
        """
        words = (*internals, *_list_machine_words(environment))
        return cls(terms, words, list_public_values(environment, *revisions))

    def add_words(self, words: Iterable[str]) -> AllowList:
        """The same with more words that say nothing of the program."""
        return replace(self, internals=(*self.internals, *words))

    def dumps(self) -> str:
        """The text of `private/allow_list.json`."""
        terms = {
            **_write_set(self.terms.everywhere),
            **_write_set(self.terms.in_code, _IN_CODE),
            "words": _as_list(self.terms.words),
        }
        return json.dumps({"terms": terms, "internals": self.internals, "allowed": self.allowed})

    @classmethod
    def load(cls, path: Path) -> AllowList | None:
        """Reads it back; None where there is none, or none that can be read."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            given = {**_OLD_TERMS, **data["terms"]}
            terms = Terms(_read_set(given), _read_set(given, _IN_CODE), _as_set(given["words"]))
            return cls(terms, tuple(data["internals"]), tuple(data["allowed"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _write_set(terms: TermSet, prefix: str = "") -> dict[str, object]:
    return {f"{prefix}{each.name}": _as_list(getattr(terms, each.name)) for each in fields(TermSet)}


def _read_set(given: Mapping[str, object], prefix: str = "") -> TermSet:
    return TermSet(
        **{each.name: _as_set(given[f"{prefix}{each.name}"]) for each in fields(TermSet)}
    )


def _as_list(values: object) -> object:
    return sorted(values) if isinstance(values, frozenset) else values


def _as_set(values: object) -> Any:
    """A mapping as it is, a list as a set; phrases are tuples of words."""
    if not isinstance(values, list):
        return values
    return frozenset(tuple(item) if isinstance(item, list) else item for item in values)
