"""The first word decides: `--help` prints a table, a verb imports the one file that holds its
command.

typer parses one command at a time, after its verb is known, so `bugreport --help` imports neither
typer nor anything else that takes time. typer only parses: errors and Ctrl-C become one sentence in
`reporter.cli.shell`, so what the user sees does not depend on the version of typer.
"""

from __future__ import annotations

from collections.abc import Callable

from reporter.core.version import VERSION

# Verb to its line in `bugreport --help`; the verb `create` lives in `reporter.cli.commands.create`.
COMMANDS = {
    "create": "Turn a failing script into a minimal, verified, anonymized report folder.",
    "anonymize": "Rewrite the whole failing model as public code, and prove that it is the same.",
    "diagnose": "Say what is wrong with a script under torch.compile; writes nothing.",
    "check": "Say whether repros still fail, on any release of torch.",
    "bisect": "Find the release or nightly that broke or fixed a repro.",
    "releases": "List, add and prune the cached environments of torch releases.",
    "file": "File a report as an issue, once; shows what leaves, and asks.",
    "list": "List the reports of this machine, with their issues and checks.",
    "show": "Show one report: its issue, its checks, its history.",
    "sync": "Ask the tracker what has become of the filed reports.",
    "triage": "Judge an issue that somebody else wrote, in a sandbox.",
    "lint": "Check an outgoing issue against the receiving project's rules.",
    "deanonymize": "Translate an answer or a patch back into the private names.",
    "evidence": (
        "Run torch's own debugging tools on a script's failing call; writes a private folder."
    ),
    "replay": "Run the recorded call of a report again, without the script.",
    "hook": "Print the folder for PYTHONPATH that makes `import bugreport` work in your programs.",
    "env": "Print the Versions block of an issue for an interpreter.",
}
# Verbs that run a user's script: all that follows SCRIPT, or the module of -m, belongs to the
# script.
RUNS_SCRIPT = {"create", "anonymize", "diagnose", "evidence"}

_HELP = f"""Usage: bugreport COMMAND [OPTIONS] [ARGS]...

  From a failing torch.compile script to a report that the maintainers can use.

Commands:
{chr(10).join(f"  {verb:<13}{line}" for verb, line in COMMANDS.items())}

Options:
  --version   Print the version and exit.
  -h, --help  Show this message, or after a command that command's options.

Exit codes:
  0 done; check: gone  1 there is no bug to report; check: still there
  2 unusable input  4 authentication
  5 the leak check refused  125 cannot be judged here  130 interrupted
  70 internal error, with the path of a log"""


def run(argv: list[str]) -> int:
    """Run the command line `argv` (without the program's name) and return the exit code."""
    first = argv[0] if argv else "--help"
    if first in COMMANDS:
        return _run_command(first, argv[1:])

    from reporter.cli import shell

    if first in ("-h", "--help"):
        return shell.guard(lambda: shell.say(_HELP))
    if first == "--version":
        return shell.guard(lambda: shell.say(f"bugreport {VERSION}"))
    return shell.guard(lambda: _refuse(first))


def _refuse(word: str) -> None:
    import difflib

    from reporter.core.errors import UsageError

    what = "option" if word.startswith("-") else "command"
    near = difflib.get_close_matches(word, COMMANDS, n=1)
    hint = f", did you mean {near[0]!r}" if near else ""
    raise UsageError(f"no such {what} {word!r}{hint}; see `bugreport --help`")


def _run_command(verb: str, argv: list[str]) -> int:
    from reporter.cli import parameters, shell

    if verb in RUNS_SCRIPT:
        argv = parameters.end_own_options(argv)
    return shell.guard(
        lambda: _parse_and_run(verb, argv),
        as_json=parameters.wants_json(argv, verb in RUNS_SCRIPT),
        help_of=f"bugreport {verb}",
    )


def _parse_and_run(verb: str, argv: list[str]) -> object:
    from reporter.execution.temporary_folder import use_own_temporary_folder

    parse = _build_parser(verb)
    with use_own_temporary_folder():
        return parse(argv)


def _build_parser(verb: str) -> Callable[[list[str]], object]:
    """What parses the arguments of `verb` with typer, calls the command and returns its exit
    code.
    """
    import importlib

    import typer.main

    context = {"help_option_names": ["-h", "--help"]}
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(
        context_settings={**context, "allow_interspersed_args": verb not in RUNS_SCRIPT},
    )(importlib.import_module(f"reporter.cli.commands.{verb}").run_command)
    # The bare parser, without the exception hook that a typer app installs.
    parser = typer.main.get_command(app)

    def parse(argv: list[str]) -> object:
        try:
            return parser.main(args=argv, prog_name=f"bugreport {verb}", standalone_mode=False)
        except SystemExit:
            # In this mode typer ends the process for one reason only: nobody reads stdout any more.
            raise BrokenPipeError from None

    return parse
