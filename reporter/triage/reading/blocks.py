"""Where the code of a post is: the blocks of its Markdown, by a Markdown parser, with the heading
that each stands under.

Only block structure is parsed: no emphasis, no links, so no text of 60,000 characters takes long.
What people do wrong is expected: code in HTML, a whole form quoted in a fence, a fence right behind
`<details>`, code without a fence.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Literal, NamedTuple

from templates.text import MARKDOWN_BLOCKS

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

BlockKind = Literal["fence", "indented", "html", "unfenced"]
_MARKDOWN = frozenset({"markdown", "md", "gfm"})
_DEPTH = 3
_TAG = re.compile(r"</?(?:details|summary|p|div|br|b|center)\b[^<>]{0,200}>")
_LANGUAGE = re.compile(r"[\s{.]*([\w+#-]+(?:\.\d+)*)")
_SUMMARY = re.compile(r"<summary>[^<>]{0,300}</summary>")


@dataclass(frozen=True)
class Block:
    """Code, or what looks like it: `language` as its fence says, `section` the heading above, in
    lower case.
    """

    text: str
    language: str = ""
    kind: BlockKind = "fence"
    section: str = ""
    quoted: bool = False


class Paragraph(NamedTuple):
    """What a person says in a row; `section` is the heading above, in lower case."""

    text: str
    section: str


@functools.lru_cache(maxsize=1)
def _build_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("zero", {"maxNesting": 50}).enable(list(MARKDOWN_BLOCKS))


def parse_blocks(text: str) -> list[Block]:
    """All blocks of code of a post, in their order."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    found = list(_read_blocks(text, "", _DEPTH))
    if "<pre" in text and not any(block.kind == "html" for block in found):
        # an empty line in it ended the HTML for Markdown, but its author sees one block
        found += [Block(inner, "", "html") for inner in _read_preformatted(text)]
    return found


def read_prose(text: str) -> list[Paragraph]:
    """The post without its code and HTML: what a person says, the headings among it."""
    section, found = "", []
    tokens = _build_parser().parse(text)
    for token, before in zip(tokens[1:], tokens):
        if token.type == "inline":
            if before.type == "heading_open":
                section = token.content.strip().lower()
            found.append(Paragraph(token.content, section))
    return found


def list_headings(text: str) -> list[str]:
    """The headings of a post; a comment in its code is none."""
    tokens = _build_parser().parse(text)
    pairs = zip(tokens, tokens[1:])
    return [inner.content.strip() for token, inner in pairs if token.type == "heading_open"]


def _read_blocks(text: str, section: str, depth: int) -> Iterator[Block]:
    tokens = _build_parser().parse(text)
    lines = text.split("\n")
    quotes = 0
    paragraphs: list[tuple[int, int]] = []
    for position, token in enumerate(tokens):
        quotes += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        if token.type == "heading_open":
            section = tokens[position + 1].content.strip().lower()
        elif token.type in ("fence", "code_block"):
            language = _read_language(token.info)
            kind: BlockKind = "fence" if token.type == "fence" else "indented"
            if language in _MARKDOWN and depth:
                yield from _read_blocks(token.content, section, depth - 1)
            else:
                yield Block(token.content, language, kind, section, quotes > 0)
        elif token.type == "html_block" and depth:
            yield from _read_html(token.content, section, depth)
        elif token.type == "paragraph_open" and token.map and not quotes:
            paragraphs.append((token.map[0], token.map[1]))
    for first, last in _find_unfenced(paragraphs, lines):
        yield Block("\n".join(lines[first:last]), "", "unfenced", section)


def _read_language(info: str) -> str:
    """`python` of `python:repro.py`, `Python,ignore` and `{.python .numberLines}`."""
    found = _LANGUAGE.match(info)
    return found[1].lower() if found else ""


def _find_unfenced(
    paragraphs: list[tuple[int, int]], lines: list[str]
) -> Iterator[tuple[int, int]]:
    """From the first line that can only be Python to the end of the text; what follows the code is
    cut off by who parses it.
    """
    starts = [
        number
        for first, last in paragraphs
        for number in range(first, last)
        if re.match(r"(?:>>> )?(?:import torch\b|from torch\b|import \w+$)", lines[number])
    ]
    if starts:
        yield starts[0], len(lines)


def _read_html(html: str, section: str, depth: int) -> Iterator[Block]:
    """Code in `<pre>`; and fences that are only text to Markdown, since no empty line stands before
    them.
    """
    found = _read_preformatted(html)
    if found:
        for text in found:
            yield Block(text, "", "html", section)
        return
    if "```" in html or "~~~" in html:
        inner = "\n".join(_TAG.sub("", _SUMMARY.sub("", line)) for line in html.split("\n"))
        yield from _read_blocks(inner, section, depth - 1)


def _read_preformatted(html: str) -> list[str]:
    reader = _PreformattedTexts()
    # some releases of Python give up on a broken declaration
    with contextlib.suppress(AssertionError, AttributeError):
        reader.feed(html)
        reader.close()
    return [text.strip("\n") for text in reader.found if text.strip()]


class _PreformattedTexts(HTMLParser):
    """The texts of the `<pre>` elements, and of `<code>` over several lines."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._open: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "pre" and self._open is None:
            self._open = ""
        elif tag == "br" and self._open is not None:
            self._open += "\n"

    def handle_endtag(self, tag: str) -> None:
        if tag == "pre" and self._open is not None:
            self.found.append(self._open)
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._open += data
