"""`--file`: the report is written first and filed then, with the same questions; a failure to file
never costs the report.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reporter.cli import shell
from reporter.core.errors import BugreportError, Interruption, UsageError
from reporter.core.json_values import Json
from reporter.core.settings import Options, list_settings

_BELONG_TO_FILING = ("labels", "assignee", "yes", "dry_run", "web")


@dataclass(frozen=True)
class ChainOutcome:
    """A written report and how filing it ended, as one outcome."""

    first: shell.CommandResult
    filed: shell.CommandResult | None
    error: BugreportError | None
    folder: Path

    @property
    def exit_code(self) -> int:
        """That of the error that ended the filing, else of the filing; 0 if nothing was filed."""
        if self.error is not None:
            return self.error.exit_code
        return self.filed.exit_code if self.filed is not None else 0

    def to_json(self) -> Json:
        """The report's document with `filing` beside it."""
        if self.error is not None:
            filing: dict[str, object] = {
                "error": {"exit_code": self.error.exit_code, "message": str(self.error)}
            }
        else:
            filing = self.filed.to_json() if self.filed is not None else {}
        return {**self.first.to_json(), "filing": filing}

    def summarize(self) -> list[str]:
        """The report's own words were said before the questions; what is left is how filing
        ended.
        """
        if self.error is not None:
            return [
                f"bugreport: {self.error}",
                f"the report is in {self.folder}; `bugreport file {self.folder}` files it",
            ]
        return self.filed.summarize() if self.filed is not None else []


def chain(
    options: Options, work: Callable[[], shell.CommandResult]
) -> Callable[[], shell.CommandResult]:
    """`work`, followed by filing if `options` ask for it; what can be refused is refused before the
    work.

    Raises:
        UsageError: when it is called: options of filing were given without --file.
        AuthenticationError: when it is called: there is no token.
    """

    def run_both() -> shell.CommandResult:
        if not options.file:
            for name in _BELONG_TO_FILING:
                if getattr(options, name):
                    flag = list_settings()[name].long_flag
                    raise UsageError(f"{flag} says how to file, so it needs --file; add it")
            return work()
        from reporter.cli.prompt import Terminal
        from reporter.tracker.filing import check_wanted, file

        user = Terminal(options)
        wanted = check_wanted(options, user)
        if wanted.sends and options.yes and not options.summary:
            raise UsageError(
                "--yes goes together with a sentence of your own; give it with --summary"
            )
        first = work()
        folder: Path | None = getattr(first, "folder", None)
        if first.exit_code != 0 or folder is None:
            return first
        for line in first.summarize():
            (shell.talk if options.json else shell.say)(line)
        try:
            return ChainOutcome(first, file(folder, wanted, user), None, folder)
        except KeyboardInterrupt:
            return ChainOutcome(first, None, Interruption("interrupted; nothing was filed"), folder)
        except BugreportError as error:
            return ChainOutcome(first, None, error, folder)

    return run_both
