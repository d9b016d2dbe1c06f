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
    TermSet,
    collect_private_terms,
    collect_surrounding_terms,
    normalize,
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

#: Files whose lines may write a character as its escape.
_ESCAPING = (".log", ".py")
_TOKEN = re.compile(r"\w+")
#: Before a `j` it is the imaginary part of a complex one.
_NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?(?=[jJ]?(?!\.?\w))")
#: In a line of JSON or of Python: a character by its number, the end of a line, a quote.
_ESCAPE = re.compile(r"\\+u(?P<number>[0-9a-fA-F]{4})|\\(?P<character>[nrt\"'/\\])")
#: Compound names with their words.
_Runs = list[tuple[list[str], str]]
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
        for view in map(normalize, (name, *_list_views(name, text))):
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
    if name.endswith(_ESCAPING):
        yield "\n".join(map(_read_escapes, text.split("\n")))
    if name.endswith(".json"):
        try:
            yield "\n".join(list_texts(json.loads(text)))
        except ValueError:
            return


def _read_escapes(line: str) -> str:
    """A line with the characters that its escapes stand for; empty where there are none, since it
    is searched as it stands, too.
    """
    read = _ESCAPE.sub(_read_escape, line) if "\\" in line else line
    # halves of pairs, as JSON writes what is beyond 16 bits
    return (
        "" if read == line else read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def _read_escape(found: re.Match[str]) -> str:
    if found["number"]:
        return chr(int(found["number"], 16))
    return " " if found["character"] in "nrt" else found["character"]


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
    runs = _list_runs(terms.everywhere)
    told: dict[str, tuple[str, LeakKind] | None] = {}
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token not in told:
            told[token] = _find_name(token, code, terms, runs)
        term = told[token]
        if term is not None:
            yield PatternMatch(found.start(), *term)


def _find_name(
    token: str, code: bool, terms: Terms, runs: Mapping[str, _Runs]
) -> tuple[str, LeakKind] | None:
    """The term that an identifier is, or has among its words."""
    if token in terms.everywhere.names:
        return token, terms.everywhere.names[token]
    if code and token in terms.in_code.names:
        return token, terms.in_code.names[token]
    parts = split_identifier(token)
    for index, first in enumerate(parts):
        for words, name in runs.get(first, ()):
            if parts[index : index + len(words)] == words:
                return name, terms.everywhere.names.get(name, "name")
    return next(
        ((word, "rare word") for word in (*parts, token.lower()) if word in terms.words), None
    )


def _list_runs(terms: TermSet) -> dict[str, _Runs]:
    """The words of each compound name, by the first of them."""
    found: dict[str, _Runs] = {}
    for name in sorted(terms.compounds):
        words = split_identifier(name)
        found.setdefault(words[0], []).append((words, name))
    return found


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
