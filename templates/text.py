"""Small tools for text that goes into somebody else's page: fences that hold, spans that end, paths
that say nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_FRAME = re.compile(r'(?P<before>File ")(?P<path>[^"\n]+)(?P<after>")')
_PACKAGE = re.compile(r".*[/\\](?:site|dist)-packages[/\\]")
_STDLIB = re.compile(r".*[/\\]lib[/\\]python3\.\d+[/\\]")
_ABSOLUTE = re.compile(
    r"(?<![\w.<>/~:-])(?:/[\w.+@~-]+){2,}/?|\b[A-Za-z]:\\(?:[\w.+@ ~-]+\\)*[\w.+@~-]+"
)
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
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


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


def track_fences(text: str) -> Iterator[tuple[str, str | None]]:
    """Each line of a Markdown text with the fence that is open after it."""
    opened: str | None = None
    for line in text.splitlines():
        found = _FENCE.fullmatch(line)
        if found is not None:
            ticks, rest = found.groups()
            if opened is None:
                if ticks[0] == "~" or "`" not in rest:  # an info string has no backticks
                    opened = ticks
            elif ticks[0] == opened[0] and len(ticks) >= len(opened) and not rest.strip():
                opened = None
        yield line, opened


def find_open_fence(text: str) -> str | None:
    """The fence that a Markdown text opens and does not close, or None."""
    states = [opened for _, opened in track_fences(text)]
    return states[-1] if states else None


def list_headings(text: str) -> list[str]:
    """The heading lines of a Markdown text, those in code blocks aside."""
    found, inside = [], None
    for line, opened in track_fences(text):
        if inside is None and opened is None and re.match(r"#{1,6}(\s|$)", line):
            found.append(line.strip())
        inside = opened
    return found


def close_fences(text: str) -> str:
    """A person's own Markdown, with the fence closed that it left open."""
    text = escape_unseen(text).strip()
    opened = find_open_fence(text)
    return text if opened is None else f"{text}\n{opened}"


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
    parts = re.split(r"(`+[^`]*`+)", fit_on_line(text, limit).replace("|", "\\|"))
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def render_span(text: str) -> str:
    """Text of a stranger as a code span, also within a table: nothing in it is Markdown, HTML or a
    mention.
    """
    # a backslash before the bar would escape ours, and the cell would end there
    line = re.sub(
        r"(\\?)\|", lambda found: f"{found[1]} \\|" if found[1] else "\\|", fit_on_line(text, 300)
    )
    return _put_between_ticks(line)


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
    text = _FRAME.sub(
        lambda found: found["before"] + _tidy_path(found["path"]) + found["after"], text
    )
    for pattern in (_SEARCHED, _ABSOLUTE):
        text = pattern.sub(lambda found: _tidy_path(found.group()), text)
    return _ADDRESS.sub("0x…", text)


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
