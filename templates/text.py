"""Small tools for text that goes into somebody else's page: fences that hold, logs that fit, paths that say nothing."""

from __future__ import annotations

import re

_FRAME = re.compile(r'(?P<before>File ")(?P<path>[^"\n]+)(?P<after>")')
_PACKAGE = re.compile(r".*[/\\](?:site|dist)-packages[/\\]")
_STDLIB = re.compile(r".*[/\\]lib[/\\]python3\.\d+[/\\]")
_ABSOLUTE = re.compile(
    r"(?<![\w.<>/~:-])(?:/[\w.+@~-]+){2,}/?|\b[A-Za-z]:\\(?:[\w.+@ ~-]+\\)*[\w.+@~-]+"
)
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
_SYSTEM = re.compile(r"/(?:usr|lib|lib64|bin|proc|sys|dev|etc)/")


def fence(text: str, language: str = "") -> str:
    """A Markdown code block that no run of backticks inside the text can end early."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def shorten(text: str, limit: int) -> str:
    """At most `limit` UTF-8 bytes: the beginning, a note of what is missing, and the (longer) end."""
    if size(text) <= limit:
        return text
    note = f"\n[... {size(text) - limit} or more bytes left out ...]\n"
    room = limit - size(note)
    if room <= 0:
        return ""
    data = text.encode()
    head, tail = data[: room // 3], data[len(data) - (room - room // 3) :]
    return head.decode(errors="ignore") + note + tail.decode(errors="ignore")


def size(text: str) -> int:
    """UTF-8 bytes, never less than what a tracker counts as characters."""
    return len(text.encode())


def one_line(text: str, limit: int = 160) -> str:
    """The text on one line, cut at `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def cell(text: str, limit: int = 120) -> str:
    """Text for a cell of a Markdown table."""
    return one_line(text, limit).replace("|", "\\|").replace("<", "&lt;")


def span(text: str, limit: int = 300) -> str:
    """Text of a stranger as a code span, also within a table: nothing in it is Markdown, HTML or a mention."""
    # a backslash before the bar would escape ours, and the cell would end there
    line = re.sub(
        r"(\\?)\|", lambda found: f"{found[1]} \\|" if found[1] else "\\|", one_line(text, limit)
    )
    if not line:
        return ""
    longest = max((len(run) for run in re.findall(r"`+", line)), default=0)
    ticks = "`" * (longest + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def number(value: object) -> str:
    """A measured number as people write it; an empty string for none."""
    if isinstance(value, bool) or value is None:
        return ""
    if isinstance(value, (int, float)):
        return f"{value:.4g}"
    return str(value)


def tidy_log(text: str) -> str:
    """A log without this machine in it: package paths become relative, other absolute paths lose their folders."""
    text = _FRAME.sub(
        lambda found: found["before"] + _tidy_path(found["path"]) + found["after"], text
    )
    text = _ABSOLUTE.sub(lambda found: _tidy_path(found.group()), text)
    return _ADDRESS.sub("0x…", text)


def _tidy_path(path: str) -> str:
    for pattern in (_PACKAGE, _STDLIB):
        if pattern.match(path):
            return pattern.sub("", path).replace("\\", "/")
    if _SYSTEM.match(path) or not re.match(r"/|[A-Za-z]:\\", path):
        return path
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]
