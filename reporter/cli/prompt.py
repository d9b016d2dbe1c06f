"""Questions go to stderr and answers come from the terminal, so that stdout stays the result's."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from reporter.cli import shell
from reporter.core.settings import TalkOptions


class Terminal:
    """Whoever sits in front of this process (`reporter.tracker.preview.Prompt`)."""

    def __init__(self, options: TalkOptions) -> None:
        self._options = options

    @property
    def is_there(self) -> bool:
        """Whether questions are allowed, and stdin and stderr are terminals."""
        return not self._options.no_input and sys.stdin.isatty() and sys.stderr.isatty()

    def show(self, line: str) -> None:
        """Prints a line on stdout, under --json on stderr."""
        (shell.talk if self._options.json else shell.say)(line)

    def say(self, line: str) -> None:
        """Prints a line on stderr."""
        shell.talk(line)

    def ask(self, question: str) -> str:
        """Asks on stderr and returns the line from stdin, stripped.

        Raises:
            KeyboardInterrupt: stdin has ended.
        """
        sys.stdout.flush()
        sys.stderr.write(f"{question}: ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
        if not answer:
            raise KeyboardInterrupt  # the terminal was closed
        return answer.strip()

    def choose(self, question: str, answers: Mapping[str, str]) -> str:
        """One of the keys of `answers`, each a single small letter; the last one for an empty line.

        Anything else is asked again.

        Raises:
            KeyboardInterrupt: as `ask` does.
        """
        *_, otherwise = answers
        choices = ", ".join(f"[{key}] {meaning}" for key, meaning in answers.items())
        while True:
            answer = self.ask(f"{question} {choices}").lower()[:1]
            if answer in answers:
                return answer
            if not answer:
                return otherwise

    def open(self, url: str) -> bool:
        """Opens a page in the browser; False if there is none."""
        import webbrowser

        return webbrowser.open(url)
