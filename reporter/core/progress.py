"""How a run tells that it lives: the library speaks to a `Progress` and never prints.

On a terminal one line is redrawn on stderr with the stage, the candidate count, the size so far and
the time; without one there is a line per stage and, while candidates run, at most one line every
five seconds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TextIO

from reporter.core.formatting import make_printable
from reporter.core.settings import TalkOptions

if TYPE_CHECKING:
    from rich.text import Text

_SECONDS_BETWEEN_LINES = 5.0


class Progress(Protocol):
    """What the stages of a run tell; `size` is a text such as "7 operations"."""

    def begin_stage(self, name: str, detail: str = "") -> None:
        """A stage begins; the one before it has ended."""

    def update(self, candidates: int, size: str) -> None:
        """So many candidates have run in this stage, and the best so far has this size."""

    def note(self, text: str) -> None:
        """Something that the user should be able to read afterwards."""

    def close(self) -> None:
        """The run has ended; calling it twice is fine."""

    def __enter__(self) -> Progress: ...

    def __exit__(self, *_: object) -> None: ...


class PlainProgress:
    """Lines for a log file, a pipe or a CI job."""

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._start = clock()
        self._last_line = self._start
        self._name = ""

    def begin_stage(self, name: str, detail: str = "") -> None:
        """Writes a line."""
        self._name = name
        self._print_line(f"{name}: {detail}" if detail else name)

    def update(self, candidates: int, size: str) -> None:
        """Writes a line, unless the last one was written less than five seconds ago."""
        if self._clock() - self._last_line >= _SECONDS_BETWEEN_LINES:
            so_far = ", ".join(filter(None, (describe_count(candidates), size)))
            self._print_line(f"{self._name}: {so_far}")

    def note(self, text: str) -> None:
        """Writes the text as a line."""
        self._print_line(text)

    def close(self) -> None:
        """There is nothing to put away."""

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _print_line(self, text: str) -> None:
        self._last_line = self._clock()
        line = f"[{format_elapsed(self._last_line - self._start)}] {text}"
        print(make_printable(line, getattr(self._stream, "encoding", None)), file=self._stream)
        self._stream.flush()


class LiveProgress:
    """One line of a terminal, redrawn four times a second; notes scroll by above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._start = time.monotonic()
        self._stage = ("starting", "")
        self._counts = ""
        console = Console(stderr=True, highlight=False)
        # Prints of the tool itself are not to be wrapped: --json owns stdout.
        self._live = Live(
            console=console,
            get_renderable=self._render,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def begin_stage(self, name: str, detail: str = "") -> None:
        """Leaves the line of the stage that ends, and begins a new one."""
        self._keep()
        self._stage, self._counts = (name, detail), ""

    def update(self, candidates: int, size: str) -> None:
        """Changes what the next drawing of the line shows."""
        self._counts = ", ".join(filter(None, (describe_count(candidates), size)))

    def note(self, text: str) -> None:
        """Prints the text above the line."""
        self._live.console.print(make_printable(text, None), markup=False)

    def close(self) -> None:
        """Leaves the last line and gives the terminal back; nothing if that was done already."""
        if self._live.is_started:
            self._keep()
            self._live.stop()

    def __enter__(self) -> LiveProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep(self) -> None:
        """Leave a line of the stage that ends, so that the screen tells the story afterwards."""
        if self._stage[0] != "starting":
            self._live.console.print(self._render())

    def _render(self) -> Text:
        from rich.text import Text

        name, detail = self._stage
        text = Text()
        text.append(f"{format_elapsed(time.monotonic() - self._start)} ", style="dim")
        text.append(name, style="bold")
        for part in (detail, self._counts):
            if part:
                text.append(f"  {part}")
        text.no_wrap, text.overflow = True, "ellipsis"
        return text


def open_progress(options: TalkOptions) -> Progress:
    """The display for this run: live only on a terminal that wants it, lines otherwise."""
    dumb = os.environ.get("TERM", "") == "dumb" or bool(os.environ.get("NO_COLOR"))
    if options.json or dumb or not sys.stderr.isatty():
        return PlainProgress()
    return LiveProgress()


def format_elapsed(seconds: float) -> str:
    """Minutes and seconds, `2:05`; hours are counted in minutes."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"


def describe_count(candidates: int) -> str:
    """The candidate count as words."""
    return f"{candidates} candidate" + ("" if candidates == 1 else "s")
