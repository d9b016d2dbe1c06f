"""Everything a command says goes through here: results to stdout, talk to stderr, an error as one
sentence.

Whatever it is, no token and no control character of a stranger's text reaches the terminal or a
log. `guard` is the only place where an exception becomes an exit code. With --json exactly one
document reaches stdout, also when the run ends in an error.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from reporter.core.errors import BugreportError, Interruption, UsageError
from reporter.core.formatting import make_printable

if TYPE_CHECKING:
    from reporter.core.settings import TalkOptions

SCHEMA_VERSION = 1
_INTERNAL_ERROR = 70
# What a shell reports for a process whose reader went away (128 + SIGPIPE), as in `bugreport env |
# head -1`.
_READER_GONE = 141
#: Characters of a file's name in a sentence.
_NAME_LIMIT = 200
#: By errno: what the machine lacks, and the way out.
_MACHINE = {
    errno.ENOSPC: ("the disk is full", "make room, or name a folder elsewhere with --output"),
    errno.EDQUOT: ("the disk quota is used up", "make room, or name a folder elsewhere"),
    errno.EROFS: ("the file system is read-only", "name a folder elsewhere with --output"),
    errno.EMFILE: ("too many files are open", "raise the limit with `ulimit -n 1024`"),
    errno.ENAMETOOLONG: ("a name is longer than files can have", "name a file or an issue"),
    errno.ENFILE: ("the machine has no more open files", "close other programs"),
}


class CommandResult(Protocol):
    """What a command found: the same facts as a document and as lines for people."""

    @property
    def exit_code(self) -> int:
        """What the process ends with."""

    def to_json(self) -> dict[str, object]:
        """The document of --json."""

    def summarize(self) -> list[str]:
        """What a person reads at the end, line by line."""


def finish(
    options: TalkOptions, work: Callable[[], CommandResult], error_code: int | None = None
) -> int:
    """Do the work of a command and print its outcome the way that `options` ask for.

    Args:
        error_code: ends every error but an interruption; None: each has its own.
    """

    def work_and_print() -> int:
        outcome = work()
        if options.json:
            import json

            say(json.dumps(outcome.to_json(), indent=2))
        elif sys.stdout.isatty() and _show(getattr(outcome, "build_tables", tuple)()):
            return outcome.exit_code
        for line in outcome.summarize():
            (talk if options.json else say)(line)
        return outcome.exit_code

    return guard(work_and_print, as_json=options.json, error_code=error_code)


def guard(
    work: Callable[[], object],
    *,
    as_json: bool = False,
    help_of: str = "bugreport",
    error_code: int | None = None,
) -> int:
    """Do `work`, and turn whatever it raises into an exit code.

    Args:
        work: returns an exit code; anything else is 0.
        as_json: a failure is a document on stdout, beside the sentence on stderr.
        help_of: the command whose --help a refused command line points to.
        error_code: as `finish` has it.
    """
    _replace_closed_streams()
    try:
        code = work()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        # Python flushes stdout once more at exit; give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _READER_GONE
    except (Exception, KeyboardInterrupt) as error:
        own_code, sentence = _explain(error, help_of)
        if error_code is None or own_code == Interruption.exit_code:
            return _fail(own_code, sentence, as_json)
        return _fail(error_code, sentence, as_json)


def _replace_closed_streams() -> None:
    """Opens what the shell has closed (`>&-`), before another file gets its number and the words
    that were meant for nobody.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode, encoding="utf-8")
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _explain(error: BaseException, help_of: str) -> tuple[int, str]:
    """The exit code of what was raised, and its sentence."""
    if isinstance(error, KeyboardInterrupt):
        told: BugreportError | None = Interruption("interrupted")
    elif isinstance(error, BugreportError):
        told = error
    else:
        told = _explain_parsing_error(error, help_of) or _find_machine_error(error)
    if told is not None:
        return told.exit_code, str(told) or "interrupted"
    return _INTERNAL_ERROR, _describe_internal_error(error)


def _describe_internal_error(error: BaseException) -> str:
    # imported here, since it is only needed when something has gone wrong
    from reporter.execution.error_log import write_error_log

    log = write_error_log(error)
    where = f"the details are in {log}" if log is not None else "no file could be written about it"
    return f"internal error ({type(error).__name__}); {where}"


def _find_machine_error(error: BaseException) -> UsageError | None:
    """What the machine lacks, where that is why something failed; None for any other exception.

    A full disk is met wherever something is written, so it is told here and not at each place.
    """
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.errno in _MACHINE:
            what, way_out = _MACHINE[seen.errno]
            name = str(seen.filename) if isinstance(seen.filename, (str, os.PathLike)) else ""
            name = name if len(name) <= _NAME_LIMIT else f"{name[: _NAME_LIMIT - 1]}…"
            return UsageError(f"{what} ({name}); {way_out}" if name else f"{what}; {way_out}")
        seen = seen.__cause__ or seen.__context__
    return None


def say(line: str) -> None:
    """Print a line of the result on stdout."""
    print(make_printable(line, sys.stdout.encoding), file=sys.stdout)


def talk(line: str) -> None:
    """Print a line that is not the result on stderr."""
    print(make_printable(line, sys.stderr.encoding), file=sys.stderr, flush=True)


def _show(tables: Sequence[object]) -> bool:
    """Print tables on the terminal, an empty line between them; whether there were any."""
    from rich.console import Console

    console = Console(highlight=False)
    for table in tables:
        console.print()
        console.print(table)
    return bool(tables)


def _explain_parsing_error(error: BaseException, help_of: str) -> BugreportError | None:
    """The sentence for what typer's parser refuses, or None for any other exception.

    Newer versions of typer carry their own copy of click, so the class to test for has no fixed
    home; both copies give a refused command line an exit code and `format_message`.
    """
    if type(error).__name__ == "Abort":
        return Interruption("interrupted")
    message = getattr(error, "format_message", None)
    if not callable(message):
        return None
    text = " ".join(str(message()).split()).rstrip(".?").replace(". Did", ", did")
    return UsageError(f"{text[:1].lower()}{text[1:]}; see `{help_of} --help`")


def _fail(code: int, sentence: str, as_json: bool) -> int:
    sentence = " ".join(sentence.split())
    talk(f"bugreport: {sentence}")
    if as_json:
        import json

        error = {"exit_code": code, "message": sentence}
        say(json.dumps({"schema_version": SCHEMA_VERSION, "error": error}))
        sys.stdout.flush()
    return code
