"""Small tools for text that goes into somebody else's page: fences that hold, spans that end, paths
that say nothing.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import tempfile
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_FRAME = re.compile(r'(?P<before>File ")(?P<path>[^"\n]+)(?P<after>")')
_PACKAGE = re.compile(r".*[/\\](?:site|dist)-packages[/\\]")
_STDLIB = re.compile(r".*[/\\]lib[/\\]python3\.\d+[/\\]")
_ABSOLUTE = re.compile(
    r"(?<![\w.<>/~:-])(?:/[\w.+@~-]+){2,}/?|\b[A-Za-z]:\\(?:[\w.+@ ~-]+\\)*[\w.+@~-]+"
)
#: Between quotes a path may have blanks. JSON escapes the second quote.
_QUOTED = re.compile(
    r"(?P<quote>['\"`])(?P<path>/[^/'\"`\n\\]+/[^'\"`\n\\]*|[A-Za-z]:\\[^'\"`\n]*?)"
    r"(?=\\*(?P=quote))"
)
#: What ends a path where nothing else tells its end.
_UNUSUAL = re.compile(r"[^\w.+@~/-]")
#: What stands right behind a compiler's flag.
_SEARCHED = re.compile(r"(?<=\s-[IL])/\S+")
#: Inductor's account of a C++ compile that failed, and the compiler that it had called.
_COMMAND = re.compile(r"^\s*Command:\s+(\S+)", re.MULTILINE)
_COMPILER = re.compile(
    r"(?:[a-z0-9_]+-(?:pc-)?linux-gnu-)?(?:g\+\+|gcc|c\+\+|cc|clang|clang\+\+|icpx|icx|nvcc|cl)"
    r"(?:-\d+(?:\.\d+)*)?(?:\.exe)?"
)
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_SYSTEM = re.compile(r"/(?:usr|lib|lib64|bin|proc|sys|dev|etc)/")
#: Control and format characters (direction marks among them), and halves of pairs.
_UNSEEN = ("Cc", "Cf", "Cs")
#: The blocks of Markdown, by markdown-it's names for them.
MARKDOWN_BLOCKS = (
    "fence",
    "code",
    "blockquote",
    "hr",
    "list",
    "reference",
    "html_block",
    "heading",
    "lheading",
)
#: What CommonMark reads from the left: an escape, a code span, backticks that are none, HTML.
_CELL = re.compile(r"\\.|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)|`+|<")
#: A paragraph that stands behind a text to see whether it would be one there.
_NEXT = "next"


def render_code_block(text: str, language: str = "") -> str:
    """A Markdown code block that no run of backticks inside the text can end early."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{escape_unseen(text).rstrip()}\n{ticks}"


def render_code(text: str) -> str:
    """Text from outside as a code span on one line: nothing in it is markup, a mention or a
    reference.
    """
    return _put_between_ticks(fit_on_line(text, 300))


def _put_between_ticks(line: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    ticks = "`" * (longest + 1)
    # CommonMark takes one space away on either side, and needs it where the text itself begins or
    # ends in a backtick
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}" if line else ""


@functools.lru_cache(maxsize=1)
def _build_parser() -> MarkdownIt:
    """Of blocks alone, so that no text takes long."""
    from markdown_it import MarkdownIt

    return MarkdownIt("zero", {"maxNesting": 50, "html": True}).enable(list(MARKDOWN_BLOCKS))


def list_fences(text: str) -> list[tuple[str, str]]:
    """The code blocks between fences of a Markdown text: what stands behind the first fence, and
    the code.
    """
    tokens = _build_parser().parse(text)
    return [(token.info.strip(), token.content) for token in tokens if token.type == "fence"]


def list_headings(text: str) -> list[str]:
    """The heading lines of a Markdown text, those in other blocks aside."""
    lines = text.split("\n")
    return [
        lines[token.map[0]].strip()
        for token in _build_parser().parse(text)
        if token.type == "heading_open" and token.markup[0] == "#" and not token.level and token.map
    ]


def find_open_block(text: str) -> str | None:
    """The mark that begins the last block of a Markdown text where whatever follows would belong to
    it, too: a fence, or the beginning of a comment in HTML. None where it would not.
    """
    last = _parse_last(text)
    if last is None:
        return None
    return last.content.split(maxsplit=1)[0] if last.type == "html_block" else last.markup


def _parse_last(text: str) -> Token | None:
    """The block that takes in what follows a text."""
    last = _build_parser().parse(f"{text}\n\n{_NEXT}")[-1]
    return last if last.content.rstrip().endswith(_NEXT) else None


def close_blocks(text: str) -> str:
    """A person's own Markdown: the fence closed that it left open, and a comment in HTML that it
    left open shown as it is.
    """
    text = escape_unseen(text).strip()
    last = _parse_last(text)
    if last is None or last.map is None:
        return text
    if last.type == "fence":
        return f"{text}\n{last.markup}"
    lines = text.split("\n")
    lines[last.map[0]] = lines[last.map[0]].replace("<", "&lt;", 1)
    return close_blocks("\n".join(lines))


def escape_unseen(text: str) -> str:
    """The text with every character that shows nothing, or turns others round, written as its
    escape.
    """
    return "".join(
        (
            character
            if character in "\n\t" or unicodedata.category(character) not in _UNSEEN
            else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        )
        for character in text.replace("\r\n", "\n")
    )


def shorten(text: str, limit: int) -> str:
    """At most so many bytes of a text: the beginning, a note of what is missing, and the (longer)
    end.

    Args:
        limit: UTF-8 bytes; where not even the note fits, the result is empty.
    """
    if count_bytes(text) <= limit:
        return text
    note = f"\n[... {count_bytes(text) - limit} or more bytes left out ...]\n"
    room = limit - count_bytes(note)
    if room <= 0:
        return ""
    data = text.encode()
    head, tail = data[: room // 3], data[len(data) - (room - room // 3) :]
    return head.decode(errors="ignore") + note + tail.decode(errors="ignore")


def count_bytes(text: str) -> int:
    """UTF-8 bytes, never less than what a tracker counts as characters."""
    return len(text.encode())


def fit_on_line(text: str, limit: int = 160) -> str:
    """The text on one line, cut with an ellipsis.

    Args:
        limit: the most characters, the ellipsis counted.
    """
    line = escape_unseen(" ".join(text.split()))
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def render_cell(text: str, limit: int = 120) -> str:
    """Text for a cell of a Markdown table. What is outside of code spans cannot become HTML.

    Args:
        limit: the most characters, before bars and angle brackets are escaped.
    """
    # GitHub splits a row at bars before it looks for spans, but inside of a span it shows an entity
    # as it is written
    line = fit_on_line(text, limit).replace("|", "\\|")
    return _CELL.sub(lambda found: "&lt;" if found.group() == "<" else found.group(), line)


def render_span(text: str) -> str:
    """Text of a stranger as a code span, also within a table: nothing in it is Markdown, HTML or a
    mention.
    """
    # a backslash before the bar would escape ours, and the cell would end there
    line = re.sub(
        r"(\\?)\|", lambda found: f"{found[1]} \\|" if found[1] else "\\|", fit_on_line(text, 300)
    )
    return _put_between_ticks(line)


def pluralize(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 line`, `2 lines`.

    Args:
        noun: of one.
        plural: of several, where it is not the noun with an s.
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def format_number(value: object) -> str:
    """A measured number as people write it; an empty string for none."""
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, (int, float)):
        return f"{value:.4g}"
    return str(value)


def tidy_log(text: str) -> str:
    """A log without this machine in it: package paths become relative, other absolute paths lose
    their folders, and a C++ compiler is called by its family.
    """
    text = _with_known_compiler(text)
    for root in _list_unusual_roots():
        text = re.sub(rf"{re.escape(root)}(?=/)", "/~", text)
    text = _QUOTED.sub(lambda found: found["quote"] + _tidy_path(found["path"]), text)
    text = _FRAME.sub(
        lambda found: found["before"] + _tidy_path(found["path"]) + found["after"], text
    )
    for pattern in (_SEARCHED, _ABSOLUTE):
        text = pattern.sub(lambda found: _tidy_path(found.group()), text)
    return _ADDRESS.sub("0x…", text)


def _list_unusual_roots() -> list[str]:
    """The folders of this machine that paths begin with and whose end in a text cannot be seen, as
    they have a blank; the longest first.
    """
    found = {str(tempfile.gettempdir()), sys.prefix, os.environ.get("VIRTUAL_ENV", "")}
    with contextlib.suppress(RuntimeError):  # there is no home
        found.add(str(Path.home()))
    with contextlib.suppress(FileNotFoundError):
        found.add(os.getcwd())
    return sorted(filter(_UNUSUAL.search, found), key=len, reverse=True)


def _with_known_compiler(text: str) -> str:
    """The log with `c++` for a compiler whose file name is nobody else's."""
    for name in {found[1] for found in _COMMAND.finditer(text)}:
        own = re.split(r"[/\\]", name)[-1]
        if not _COMPILER.fullmatch(own):
            text = text.replace(name, "c++")
            text = re.sub(rf"(?<![\w-]){re.escape(own)}(?![\w-])", "c++", text)
    return text


def _tidy_path(path: str) -> str:
    for pattern in (_PACKAGE, _STDLIB):
        if pattern.match(path):
            return pattern.sub("", path).replace("\\", "/")
    if _SYSTEM.match(path) or not re.match(r"/|[A-Za-z]:\\", path):
        return path
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]
