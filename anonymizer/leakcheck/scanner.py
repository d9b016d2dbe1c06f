"""The leak check: reads the final bytes as a stranger would, and knows nothing of how they were
made.

The anonymizer rebuilds a program from an allow-list and should have nothing to hide. This module
does not believe it: it takes the private sources and the outgoing files and looks for the one in
the other. One leak is enough to hold the report back.
"""

from __future__ import annotations

import bisect
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from anonymizer.leakcheck import patterns, vocabulary
from anonymizer.leakcheck.patterns import Identity, LeakKind, PatternMatch
from anonymizer.leakcheck.terms import (
    PHRASE,
    PLAIN_PHRASE,
    TermKind,
    Terms,
    collect_private_terms,
    collect_surrounding_terms,
)
from anonymizer.leakcheck.vocabulary import split_identifier

__all__ = [
    "LeakCheckResult",
    "Leak",
    "OwnText",
    "Identity",
    "Terms",
    "find_leaks",
    "collect_private_terms",
    "count_terms",
    "collect_surrounding_terms",
]

_TOKEN = re.compile(r"\w+")
#: Before a `j` it is the imaginary part of a complex one.
_NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?(?=[jJ]?(?!\.?\w))")
_SPOKEN = re.compile(r"[^\W_]+(?:['’][a-z]+)?")


@dataclass(frozen=True)
class OwnText:
    """Text that is the same whatever the private program says, so a word of it is no sign.

    `code` is what our harness and test template put into `.py` files; `prose` what the other
    templates say and the words of torch's own tracebacks
    (`collectors.machine.internal_names`). Prose may use what `code` uses.
    """

    code: str = ""
    prose: str = ""


@dataclass(frozen=True)
class Leak:
    """A private term in an outgoing file.

    `excerpt` quotes the line, so leaks are private themselves.
    """

    file: str
    line: int
    term: str
    kind: LeakKind
    excerpt: str


@dataclass(frozen=True)
class LeakCheckResult:
    """The answer: `passed` exactly when there is no leak; `terms_checked` counts the private
    terms looked for.
    """

    passed: bool
    terms_checked: int
    findings: tuple[Leak, ...]


def find_leaks(
    files: Mapping[str, str],
    terms: Terms,
    identity: Identity,
    *,
    ours: OwnText = OwnText(),
    allowed: Iterable[str] = (),
) -> LeakCheckResult:
    """Looks for private terms, credentials, addresses and this machine's names in what is about to
    leave.

    Args:
        files: name -> text of everything outside `private/`. Names are searched as well.
        terms: what the private program is recognized by.
        identity: home folder, user and host by value.
        ours: text that is the same whatever the private program says.
        allowed: public values that look like credentials or addresses (torch's git revision,
            releases of packages).

    Returns:
        The leaks, each with its file and line. Nothing is changed.
    """
    wanted_in_code = terms.without_text(ours.code)
    wanted_in_prose = wanted_in_code.without_text(ours.prose)
    known = vocabulary.load_words()
    permitted = frozenset(allowed)
    leaks: dict[tuple[str, str, str], Leak] = {}
    for name, text in files.items():
        for view in (name, *_list_views(name, text)):
            starts = [found.start() for found in re.finditer(r"^", view, re.MULTILINE)]
            code = name.endswith(".py")
            wanted = wanted_in_code if code else wanted_in_prose
            for match in _find_matches(view, code, wanted, identity, known, permitted):
                key = (name, match.text, match.kind)
                if key not in leaks:
                    line = bisect.bisect_right(starts, match.start)
                    leaks[key] = Leak(
                        name, line, match.text, match.kind, _cut_excerpt(view, match.start)
                    )
    return LeakCheckResult(not leaks, count_terms(terms, identity), tuple(leaks.values()))


def count_terms(terms: Terms, identity: Identity) -> int:
    """How many values the search looks for.

    Known beforehand, because the files that are searched state it.
    """
    return len(terms) + sum(1 for value in (identity.home, identity.user, identity.host) if value)


def _list_views(name: str, text: str) -> Iterator[str]:
    """The text as it stands and, where the format can disguise a character, as a reader sees it."""
    yield text
    if name.endswith((".html", ".md")) and html.unescape(text) != text:
        yield html.unescape(text)
    if name.endswith(".json"):
        try:
            yield "\n".join(list_texts(json.loads(text)))
        except ValueError:
            return


def list_texts(value: object) -> Iterator[str]:
    """Every text in a document, keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from list_texts(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from list_texts(item)


def _find_matches(
    text: str,
    code: bool,
    terms: Terms,
    who: Identity,
    known: frozenset[str],
    allowed: frozenset[str],
) -> Iterator[PatternMatch]:
    yield from _find_names(text, code, terms)
    yield from _find_texts(text, terms.everywhere.strings)
    if code:
        yield from _find_texts(text, terms.in_code.strings)
    yield from _find_phrases(text, terms.everywhere.phrases, PHRASE)
    if code:
        yield from _find_phrases(text, terms.in_code.phrases, PLAIN_PHRASE)
    yield from _find_numbers(
        text, terms.everywhere.numbers | terms.in_code.numbers if code else terms.everywhere.numbers
    )
    yield from patterns.find_addresses(text, allowed)
    yield from patterns.find_identity(text, who, known)
    yield from patterns.find_credentials(text, allowed)


def _find_names(text: str, code: bool, terms: Terms) -> Iterator[PatternMatch]:
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token in terms.everywhere.names:
            yield PatternMatch(found.start(), token, terms.everywhere.names[token])
        elif code and token in terms.in_code.names:
            yield PatternMatch(found.start(), token, terms.in_code.names[token])
        elif not terms.words.isdisjoint(parts := [*split_identifier(token), token.lower()]):
            word = next(part for part in parts if part in terms.words)
            yield PatternMatch(found.start(), word, "rare word")


def _find_texts(text: str, strings: Mapping[str, TermKind]) -> Iterator[PatternMatch]:
    for string, kind in strings.items():
        pattern = r"\s+".join(re.escape(word) for word in string.split())
        found = re.search(rf"(?<![A-Za-z0-9_]){pattern}(?![A-Za-z0-9_])", text)
        if found:
            yield PatternMatch(found.start(), string, kind)


def _find_phrases(
    text: str, phrases: frozenset[tuple[str, ...]], length: int
) -> Iterator[PatternMatch]:
    words = list(_SPOKEN.finditer(text)) if phrases else []
    spoken = [word.group().lower() for word in words]
    for index in range(len(words) - length + 1):
        phrase = tuple(spoken[index : index + length])
        if phrase in phrases:
            yield PatternMatch(words[index].start(), " ".join(phrase), "phrase")


def _find_numbers(text: str, numbers: frozenset[float]) -> Iterator[PatternMatch]:
    for found in _NUMBER.finditer(text) if numbers else ():
        try:
            value = float(found.group().replace("_", ""))
        except ValueError:
            continue
        if value in numbers:
            yield PatternMatch(found.start(), found.group(), "number")


def _cut_excerpt(text: str, start: int) -> str:
    begin = text.rfind("\n", 0, start) + 1
    end = text.find("\n", start)
    line = text[begin : end if end >= 0 else len(text)]
    left = max(0, start - begin - 50)
    return line[left : left + 120].strip()
