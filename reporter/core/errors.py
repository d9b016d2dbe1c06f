"""Every way the tool can end badly, drawn in one place: an error *is* its exit code and one
sentence.

    BugreportError                70  base; never raised itself
    ├── UsageError                 2  the command line, a setting, or an input cannot be used
    ├── AuthenticationError        4  the issue tracker does not accept who is asking
    ├── LeakError                  5  the leak check refused what was about to leave the machine
    ├── CannotJudgeError         125  this machine cannot tell whether the bug is there
    │   ├── DamagedEnvironmentError   nothing can run in an interpreter that was fine before
    │   ├── InstallerEndedError       a signal has ended the installation of a release
    │   └── TrackerError         125  the issue tracker gives no answer that can be used, for now
    └── Interruption             130  the user pressed Ctrl-C

The text of an error is one clear sentence that names the input and the way out. It is printed as it
stands, so it carries no traceback and no line break. "There is no bug to report" (exit code 1) is a
verdict and not an error, so it has no class here.
"""

from __future__ import annotations

from typing import ClassVar


class BugreportError(Exception):
    """The base of all errors that reach the user as one sentence; raise one of its subclasses."""

    exit_code: ClassVar[int] = 70


class UsageError(BugreportError):
    """Raised when a flag, a setting, a script, an interpreter or an output folder cannot be used.

    Nothing has been written when it is raised: the user corrects the input and starts again.
    """

    exit_code = 2


class AuthenticationError(BugreportError):
    """Raised when an issue tracker refuses the token, or when there is no token to offer."""

    exit_code = 4


class LeakError(BugreportError):
    """Raised when the final bytes of a report hold something private, so the report is withheld."""

    exit_code = 5


class CannotJudgeError(BugreportError):
    """Raised when the question has no answer here: no such device, no compiler, a torch too old."""

    exit_code = 125


class DamagedEnvironmentError(CannotJudgeError):
    """Raised when nothing can run in an interpreter that was fine before, which may be repaired."""


class InstallerEndedError(CannotJudgeError):
    """Raised when a signal has ended an installation, so that nothing is tried in its place."""


class TrackerError(CannotJudgeError):
    """Raised when an issue tracker cannot be reached, is busy, or answers with something that is no
    answer.

    `may_have_happened`: the request may have been carried out all the same, so it must not simply
    be sent again. `wait` is the number of seconds after which the tracker wants to be asked again,
    where it said so.
    """

    def __init__(
        self, sentence: str, *, may_have_happened: bool = False, wait: float | None = None
    ) -> None:
        super().__init__(sentence)
        self.may_have_happened = may_have_happened
        self.wait = wait


class Interruption(BugreportError):
    """Raised when the user pressed Ctrl-C; the sentence says how to go on with `--resume`."""

    exit_code = 130
