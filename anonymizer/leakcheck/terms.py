"""What a private program would be recognized by, read from its text and from nothing the rewriter
knows.

Not every word of a script gives it away: `loss` says nothing, `AureliaResBlock` says everything. So
each term gets a *reach*. Names the script defines, rare words, addresses, keys, long numbers are
signs in every file that leaves. Ordinary words and everyday numbers are signs in program text
only, where a name that the script defines has no business, and not in prose, where everybody uses
them.
"""

from __future__ import annotations

import ast
import functools
import io
import math
import re
import textwrap
import tokenize
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Literal, NamedTuple

from anonymizer.leakcheck import vocabulary as public
from anonymizer.leakcheck.vocabulary import is_common, split_identifier

#: What a private term is.
TermKind = Literal["name", "string", "text", "file name", "extra", "surroundings"]

PHRASE = 3
PLAIN_PHRASE = 6
_PUBLIC_TOKEN = re.compile(
    r"(?:cu|sm_?|py|cp|bf|fp|int|uint|float|conv|[abhlvt]|rtx)\d+[a-z]?", re.IGNORECASE
)
_DEFINING_CALLS = frozenset(
    "register_buffer register_parameter register_module add_module setattr namedtuple"
    " make_dataclass".split()
)
#: In a text without letters, but for zeros around them.
_TELLING_DIGITS = 6
_LONG_DIGITS = re.compile(r"\d{3}")
_CUTS = re.compile(r"[/\\:@?&=#,;|\"'`()\[\]{}<>!*]+")
_EDGES = "()[]{}<>\"'`.,;:!?*=-"
_WORD = re.compile(r"[^\W_]+(?:['’][a-z]+)?")


@dataclass(frozen=True)
class TermSet:
    """Private terms by how they are matched; each mapping gives the kind of a term.

    `names` match a whole identifier, those among `compounds` as a run of its words, too, however it
    spells them; `strings` match between word boundaries; `phrases` are runs of lower-case words;
    `numbers` match by value.
    """

    names: Mapping[str, TermKind] = field(default_factory=dict)
    strings: Mapping[str, TermKind] = field(default_factory=dict)
    phrases: frozenset[tuple[str, ...]] = frozenset()
    numbers: frozenset[float] = frozenset()
    compounds: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.names) + len(self.strings) + len(self.phrases) + len(self.numbers)

    def without_numbers(self, numbers: Iterable[float]) -> TermSet:
        """The terms but for these numbers."""
        return replace(self, numbers=self.numbers - frozenset(numbers))

    def join(self, other: TermSet) -> TermSet:
        """The terms of both."""
        return TermSet(
            {**self.names, **other.names},
            {**self.strings, **other.strings},
            self.phrases | other.phrases,
            self.numbers | other.numbers,
            self.compounds | other.compounds,
        )

    def without_text(self, text: str) -> TermSet:
        """The terms that do not occur in `text`, but for numbers."""
        words = _read_words(text)
        return TermSet(
            names={name: kind for name, kind in self.names.items() if name not in words.tokens},
            strings={string: kind for string, kind in self.strings.items() if string not in text},
            phrases=frozenset(
                phrase for phrase in self.phrases if " ".join(phrase) not in words.prose
            ),
            numbers=self.numbers,
            compounds=frozenset(
                name for name in self.compounds if split_identifier(name) not in words.runs
            ),
        )


@dataclass(frozen=True)
class Terms:
    """All private terms: what is looked for `everywhere`, what is looked for `in_code` alone (`.py`
    files), and the `words` (lower case), which match any word of an identifier or of prose, in any
    case.
    """

    everywhere: TermSet = TermSet()
    in_code: TermSet = TermSet()
    words: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.everywhere) + len(self.in_code) + len(self.words)

    def without_numbers(self, numbers: Iterable[float]) -> Terms:
        """The terms but for numbers that may leave: they are listed as left over, or their owner
        has allowed them.
        """
        gone = {abs(float(number)) for number in numbers}
        everywhere, in_code = (one.without_numbers(gone) for one in (self.everywhere, self.in_code))
        return replace(self, everywhere=everywhere, in_code=in_code)

    def join(self, other: Terms) -> Terms:
        """The terms of both."""
        return Terms(
            self.everywhere.join(other.everywhere),
            self.in_code.join(other.in_code),
            self.words | other.words,
        )

    def without_text(self, text: str) -> Terms:
        """The terms that do not occur in `text`, which is the same whatever the private program
        says.
        """
        if not text:
            return self
        return Terms(
            self.everywhere.without_text(text),
            self.in_code.without_text(text),
            self.words - _read_words(text).parts,
        )


class _TextWords(NamedTuple):
    """The identifiers of a text, with the words that they are made of, singly and in runs, and its
    prose.
    """

    tokens: frozenset[str]
    parts: frozenset[str]
    runs: public.WordRuns
    prose: str


@functools.lru_cache(maxsize=8)
def _read_words(text: str) -> _TextWords:
    """The words of a text that is constant, so it is read once."""
    tokens = frozenset(re.findall(r"\w+", text))
    words = [split_identifier(token) for token in tokens]
    parts = frozenset(part for each in words for part in each)
    parts |= {token.lower() for token in tokens}
    return _TextWords(tokens, parts, public.WordRuns(words), " ".join(split_prose(text)))


def normalize(text: str) -> str:
    """A text with each accent and its letter as one character, where Unicode has one for both."""
    return unicodedata.normalize("NFC", text)


def split_prose(text: str) -> list[str]:
    """The words of prose, lower case, digits kept: `(grain recipe v3)` gives grain, recipe, v3."""
    return [word.lower() for word in _WORD.findall(text)]


def collect_private_terms(
    sources: Mapping[str, str],
    vocabulary: frozenset[str],
    extra: Iterable[str] = (),
    sizes: Iterable[int] = (),
) -> Terms:
    """The private terms of a program.

    Args:
        sources: the program's files, path -> text. Paths are private too.
        vocabulary: torch's public names, from the user's interpreter.
        extra: strings the user or another part of the tool knows to be private; always a sign,
            everywhere.
        sizes: of the private tensors, wherever the program has them from; signs unless they are
            everybody's.
    """
    collector = _TermCollector(vocabulary)
    for path, text in sources.items():
        collector.add_path(normalize(path))
        collector.add_source(normalize(text))
    for term in extra:
        collector.add_extra(normalize(term))
    for size in sizes:
        collector.add_number(size)
    return collector.build()


def collect_surrounding_terms(names: Iterable[str], public: Iterable[str] = ()) -> Terms:
    """The private terms in what surrounds a program: names and values of variables, hosts, folders,
    packages.

    Only words that are rare and pieces with such a word are signs: the rest of a path or of an
    address is everybody's.

    Args:
        names: texts of any kind.
        public: words that may leave.
    """
    collector = _TermCollector(frozenset(public))
    for name in names:
        collector.add_surrounding(normalize(name))
    return collector.build()


class _TermCollector:
    """Sorts what a program consists of into the kinds of `Terms`."""

    def __init__(self, vocabulary: frozenset[str]) -> None:
        self.vocabulary = vocabulary | public.load_python()
        self.parts = public.NameParts(vocabulary)
        known = [split_identifier(name) for name in vocabulary]
        self.runs = public.WordRuns(known)
        self.jargon = {part for parts in known for part in parts if len(part) > 2}
        self.common = public.load_words() | self.jargon
        self.folded = {name.lower() for name in self.vocabulary}
        self.names: dict[str, TermKind] = {}
        self.code_names: dict[str, TermKind] = {}
        self.words: set[str] = set()
        self.strings: dict[str, TermKind] = {}
        self.code_strings: dict[str, TermKind] = {}
        self.phrases: set[tuple[str, ...]] = set()
        self.code_phrases: set[tuple[str, ...]] = set()
        self.numbers: set[float] = set()
        self.code_numbers: set[float] = set()

    def build(self) -> Terms:
        return Terms(
            TermSet(
                self.names,
                self.strings,
                frozenset(self.phrases),
                frozenset(self.numbers),
                frozenset(filter(self._is_telling_compound, self.names)),
            ),
            TermSet(
                self.code_names,
                self.code_strings,
                frozenset(self.code_phrases),
                frozenset(self.code_numbers),
            ),
            frozenset(self.words),
        )

    # What counts as rare

    def _is_rare(self, word: str, least: int = 5) -> bool:
        if _measure(word) < least or not word.isalpha() or word in self.folded:
            return False
        return not is_common(word, self.common)

    def _is_telling_compound(self, name: str) -> bool:
        """Whether the words of a name, in this order, are nobody else's: three of them, or two that
        are not both torch's, as those of `num_heads` are.
        """
        words = split_identifier(name)
        telling = [word for word in words if _measure(word) > 2 and word.isalpha()]
        if len(telling) < 2 or words in self.runs:
            return False
        return len(telling) > 2 or not self.jargon.issuperset(telling)

    def _is_known(self, name: str) -> bool:
        return (
            name in self.vocabulary
            or name in public.PUBLIC_STRINGS
            or name in public.PUBLIC_PACKAGES
        )

    def _identifies(self, piece: str) -> bool:
        """Whether a piece of text with digits or separators in it (a ticket, a host, a key) is
        nobody else's.
        """
        if self._is_known(piece) or _PUBLIC_TOKEN.fullmatch(piece):
            return False
        if not re.search(r"[^\W\d_]", piece):  # a date, the number of an account
            return len(re.sub(r"\D", "", piece).strip("0")) >= _TELLING_DIGITS
        parts = split_identifier(piece)
        if any(self._is_rare(part, least=4) for part in parts) or _LONG_DIGITS.search(piece):
            return True
        odd = any(part.isalpha() and not is_common(part, self.common) for part in parts)
        return odd and bool(re.search(r"\d{2}", piece))

    # Sources

    def add_path(self, path: str) -> None:
        """A file name and the folders above it, which are often named after the project."""
        pure = PurePath(path.replace("\\", "/"))
        self._add_words([part for piece in pure.parts for part in split_identifier(piece)])
        if any(self._is_rare(part, least=4) for part in split_identifier(pure.stem)):
            self.strings[pure.name] = "file name"
            self._add_name(pure.stem, defined=True, kind="file name")

    def add_extra(self, term: str) -> None:
        term = term.strip()
        if _measure(term) < 3:
            return
        (self.names if re.fullmatch(r"\w+", term) else self.strings)[term] = "extra"
        self._add_words(split_identifier(term))

    def add_surrounding(self, text: str) -> None:
        """A name or a value from around the program; see `collect_surrounding_terms`."""
        for piece in {text.strip(), *_split_pieces(text)}:
            words = [part for part in split_identifier(piece) if self._is_rare(part)]
            if words and _measure(piece) >= 5 and not self._is_known(piece) and len(piece) <= 200:
                target = self.names if re.fullmatch(r"\w+", piece) else self.strings
                target[piece] = "surroundings"
            self._add_words(words)
            if piece.isalpha():  # camel case in the name of a person or a product
                self._add_words([piece.lower()])

    def add_source(self, text: str) -> None:
        """A program's text.

        What cannot be parsed is read as prose, so nothing in it is passed over.
        """
        for comment in _list_comments(text):
            self._add_text(comment)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            self._add_text(text)
            for name in set(re.findall(r"[^\W\d]\w+", text)):
                self._add_name(name, defined=False)
            return
        for node in ast.walk(tree):
            self._add_node(node)

    def _add_node(self, node: ast.AST) -> None:
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
            ):
                self._add_name(name, defined=True)
            case ast.Attribute(attr=name):
                self._add_name(name, defined=isinstance(node.ctx, ast.Store))
            case ast.alias(asname=name):
                if name is not None:
                    self._add_name(name, defined=False)
            case ast.Import(names=names):
                for alias in names:
                    self._add_import(alias.name)
            case ast.ImportFrom(names=names):
                self._add_import(node.module or "", *(alias.name for alias in names))
            case ast.Call():
                self._add_call(node)
            case ast.Constant(value=value):
                self._add_constant(value)
            case _:
                for name in _list_words(node):
                    self._add_name(name, defined=False)

    def _add_import(self, module: str, *imported: str) -> None:
        """A module that is not public: it and what is taken from it are the program's."""
        if not self._is_public_module(module):
            for name in (*module.split("."), *imported):
                self._add_name(name, defined=True)

    def _add_call(self, node: ast.Call) -> None:
        """`register_buffer("slopes", …)` defines an attribute as much as an assignment does."""
        called = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        if called in _DEFINING_CALLS:
            for argument in node.args[:2]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    self._add_name(argument.value, defined=True)

    def _is_public_module(self, module: str) -> bool:
        root = module.split(".")[0]
        return root in public.PUBLIC_PACKAGES or root in public.load_python()

    def _add_constant(self, value: object) -> None:
        if isinstance(value, bytes):
            value = value.decode("latin-1")
        if isinstance(value, str) and _is_program(value):
            # for `exec`: its names tell, its grammar does not
            self.add_source(textwrap.dedent(value))
        elif isinstance(value, str):
            self._add_text(value, constant=True)
        elif isinstance(value, complex):
            self.add_number(value.imag)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self.add_number(value)

    # Terms

    def _add_name(self, name: str, defined: bool, kind: TermKind = "name") -> None:
        """An identifier; `defined` when the program brought it into the world as a class, function
        or attribute.
        """
        if self._is_known(name) or _measure(name) < 4 or name == "_" * len(name):
            return
        if name in public.GENERIC_NAMES:
            return
        parts = split_identifier(name)
        plain = name.isalpha() and name.islower()
        compound = not plain and len([part for part in parts if len(part) > 1]) > 1
        self._add_words(parts)
        if compound or (defined and not plain):
            self.names[name] = kind
        elif defined or any(self._is_rare(part, least=4) for part in parts):
            self.code_names[name] = kind

    def _add_words(self, words: Iterable[str]) -> None:
        self.words.update(word for word in words if self._is_rare(word))

    def _add_text(self, text: str, constant: bool = False) -> None:
        """A string constant, a comment or a docstring: the whole, its pieces, its rare words, its
        phrases.
        """
        if public.is_canonical_einsum(text.replace(" ", "")):
            return
        if constant:
            self._add_whole(text.strip())
        for piece in _split_pieces(text):
            if _measure(piece) >= 5 and self._identifies(piece):
                (self.names if re.fullmatch(r"\w+", piece) else self.strings)[piece] = "text"
        words = split_prose(text)
        self._add_words(
            part
            for word in re.findall(r"[^\W\d_]+", text)
            for part in (*split_identifier(word), word.lower())
        )
        for index in range(len(words) - PHRASE + 1):
            phrase = tuple(words[index : index + PHRASE])
            if any(self._is_telling(word) for word in phrase):
                self.phrases.add(phrase)
        for index in range(len(words) - PLAIN_PHRASE + 1):
            self.code_phrases.add(tuple(words[index : index + PLAIN_PHRASE]))

    def _is_telling(self, word: str) -> bool:
        if self._is_known(word) or _PUBLIC_TOKEN.fullmatch(word):
            return bool(re.fullmatch(r"v\d+", word))
        if word.isalpha():
            return self._is_rare(word, least=4)
        return bool(re.search(r"[a-z]", word)) and bool(re.search(r"\d", word))

    def _add_whole(self, text: str) -> None:
        """A string constant as one term, in code from eight letters on."""
        if (
            not 8 <= _measure(text)
            or len(text) > 200
            or self._is_known(text)
            or text in public.GENERIC_NAMES
        ):
            return
        if text in self.parts:
            return
        if _measure("".join(re.findall(r"[^\W_]", text))) < 5:
            return
        if re.fullmatch(r"\w+", text):
            self._add_name(text, defined=False, kind="string")
            self.code_names.setdefault(text, "string")
        elif self._identifies(text) or len(text.split()) >= 3:
            self.strings[text] = "string"
        else:
            self.code_strings[text] = "string"

    def add_number(self, value: float) -> None:
        """A numeric constant, unless it is of the everyday kind."""
        value = abs(value)
        digits = _count_digits(value)
        if isinstance(value, int):
            if value > 64 and digits > 2 and not _is_usual_size(value):
                (self.numbers if value >= 10_000 and digits > 3 else self.code_numbers).add(
                    float(value)
                )
        elif math.isfinite(value) and digits > 3 and not _is_mathematical(value):
            (self.numbers if digits > 4 else self.code_numbers).add(value)


def _measure(text: str) -> int:
    """Its length in bytes of UTF-8: outside of ASCII one character can say what takes several
    letters there.
    """
    return len(text.encode("utf-8", "surrogatepass"))


def _is_program(text: str) -> bool:
    """Whether a string is Python that defines something; a sentence can be an expression, but never
    that.
    """
    if "\n" not in text or not re.search(r"^\s*(?:class|def|async def) ", text, re.MULTILINE):
        return False
    try:
        tree = ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError):
        return False
    return any(
        isinstance(n, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) for n in tree.body
    )


def _list_words(node: ast.AST) -> Iterator[str]:
    """The identifiers that a piece of syntax has by itself, whatever kind it is."""
    for _, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, str):
                yield each


def _list_comments(text: str) -> Iterator[str]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.string.lstrip("#!: ")
    except (tokenize.TokenError, SyntaxError):
        return


def _split_pieces(text: str) -> Iterator[str]:
    """What stands between blanks, and what stands between the separators of an address or a path
    inside that.
    """
    for token in text.split():
        for piece in {token, *_CUTS.split(token)}:
            piece = piece.strip(_EDGES)
            yield piece
            yield from (part for part in piece.split("-") if "-" in piece)


def _count_digits(value: float) -> int:
    text = repr(value) if isinstance(value, float) else str(value)
    mantissa = re.split("[eE]", text)[0].replace(".", "").strip("0")
    return len(mantissa) or 1


def _is_usual_size(value: int) -> bool:
    """2**k and its neighbors, 3 * 2**k, multiples of 32 below 10,000, and the sizes of well-known
    networks.
    """
    near_power = any((value + shift) & (value + shift - 1) == 0 for shift in (-1, 0, 1))
    return (
        near_power
        or (value < 10_000 and value % 32 == 0)
        or value in (123, 225, 227, 299, 1234, 1337, 12345)
    )


def _is_mathematical(value: float) -> bool:
    constants = (
        math.pi,
        math.e,
        math.tau,
        math.sqrt(2),
        math.sqrt(0.5),
        math.log(2),
        math.sqrt(2 / math.pi),
        *(0.044715, 1.702, 1.0507009873554805, 1.6732632423543772),  # of GELU's two forms and SELU
    )
    return any(math.isclose(value, constant, rel_tol=1e-4) for constant in constants)
