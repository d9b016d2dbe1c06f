"""The command-line parameters of a command, derived from the one declaration in
`reporter.core.settings`, and for what one command alone has in its dataclass of arguments.

A command is written as a function of `Options`; `declare_options` gives it the signature that typer
reads. Values arrive as plain text and are read by `setting_sources.resolve`, so a bad `--jobs` and
a bad `BUGREPORT_JOBS` get the same sentence.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from reporter.cli import shell
from reporter.core.arguments import Argument
from reporter.core.setting_sources import ENVIRONMENT_PREFIX, resolve
from reporter.core.settings import Setting, list_settings


def declare_options(
    *names: str, script: bool = False, own: type[Any] | None = None
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Make a function of `Options` into a command with the options `names`, and SCRIPT if asked.

    Options and arguments that no other command has are the further parameters of the function,
    written as typer reads them; or they are the fields of a dataclass `own`
    (`reporter.core.arguments`), of which the function is given an instance.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        further = list(inspect.signature(function, eval_str=True).parameters.values())
        own_parameters = further[1:] if own is None else _list_parameters(own)

        def run_command(**given: object) -> int:
            more = {parameter.name: given.pop(parameter.name) for parameter in own_parameters}
            words = given.pop("command", None) or ()
            assert isinstance(words, (list, tuple))
            first, rest = _split(given, [str(word) for word in words])
            _note_misplaced_option(names, rest)
            # typer hands over an empty list for an option that may be repeated and was not given
            spoken = {name: None if value == [] else value for name, value in given.items()}
            options = resolve(spoken, first, rest)
            return (
                function(options, **more)
                if own is None
                else function(options, _build_options(own, more))
            )

        parameters = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own_parameters
        ]
        parameters += [_build_parameter(name, list_settings()[name]) for name in names]
        if script:
            # Hidden, since the usage line says it better than typer's name for a list.
            words = Annotated[list[str] | None, typer.Argument(metavar="SCRIPT ARGS", hidden=True)]
            parameters.append(_build_keyword("command", words))
        run_command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run_command.__annotations__ = {}
        run_command.__name__ = function.__name__
        run_command.__doc__ = function.__doc__
        return run_command

    return decorate


def _list_parameters(own: type[Any]) -> list[inspect.Parameter]:
    """The fields of a command's own options as typer reads them."""
    kinds = get_type_hints(own)
    return [_build_own_parameter(field, kinds[field.name]) for field in dataclasses.fields(own)]


def _build_own_parameter(field: dataclasses.Field[Any], kind: Any) -> inspect.Parameter:
    said: Argument = field.metadata["argument"]
    default: Any = inspect.Parameter.empty if field.default is MISSING else field.default
    if get_origin(kind) is tuple:
        kind, default = list[get_args(kind)[0]] | None, None  # type: ignore[misc]
    info: Any
    if not said.flag:
        info = typer.Argument(metavar=said.metavar, help=said.help, show_default=False)
    elif said.metavar is None:
        info = typer.Option(said.flag, help=said.help)
    else:
        info = typer.Option(
            said.flag,
            metavar=said.metavar,
            help=said.help,
            show_default=default is not None,
            min=said.limits[0],
            max=said.limits[1],
        )
    return _build_keyword(field.name, Annotated[kind, info]).replace(default=default)


def _build_options(own: type[Any], words: Mapping[str, Any]) -> object:
    """What a command line gave; a field that it did not give stays at its default."""
    given = {name: value for name, value in words.items() if value is not None}
    return own(**{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()})


def _split(given: dict[str, object], words: list[str]) -> tuple[Path | None, tuple[str, ...]]:
    """SCRIPT and its arguments; with -m there is no SCRIPT and all words are the module's."""
    if given.get("module") is not None or not words:
        return None, tuple(words)
    return Path(words[0]), tuple(words[1:])


def _note_misplaced_option(names: tuple[str, ...], rest: tuple[str, ...]) -> None:
    """Says so when what looks like an option of ours goes to the script: a wrong order is silent
    otherwise.
    """
    flags = {flag for name in names for flag in list_settings()[name].flags}
    meant = next((word for word in rest if word.partition("=")[0] in flags), None)
    if meant is not None:
        shell.talk(
            f"note: {meant} stands after the script, so the script gets it; options of bugreport go"
            " before the script"
        )


def _build_keyword(name: str, annotation: object) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=None, annotation=annotation)


def _build_parameter(name: str, setting: Setting) -> inspect.Parameter:
    """One typer option; None stands for "not given", so that the other sources get their turn."""
    if not setting.is_switch:
        info = typer.Option(
            *setting.flags,
            metavar=setting.metavar,
            help=setting.help,
            show_default=False,
            hidden=setting.hidden,
        )
        if setting.many:
            return _build_keyword(name, Annotated[list[str] | None, info])
        return _build_keyword(name, Annotated[str | None, info])
    *short, long = setting.flags
    pair = long if not setting.everywhere else f"{long}/{_negate_flag(long)}"
    info = typer.Option(*short, pair, help=setting.help, show_default=False)
    return _build_keyword(name, Annotated[bool | None, info])


def _negate_flag(flag: str) -> str:
    """The flag that switches off what the environment or a file switched on."""
    return "--" + flag[5:] if flag.startswith("--no-") else "--no-" + flag[2:]


def end_own_options(argv: list[str]) -> list[str]:
    """`argv` with `--` after `-m MODULE`, so that what follows is left to the module."""
    for position, flag in _list_own_flags(argv):
        if flag in list_settings()["module"].flags and argv[position + 1 :]:
            end = position + 1 if _has_attached_value(argv[position], flag) else position + 2
            return [*argv[:end], "--", *argv[end:]]
    return argv


def wants_json(argv: list[str], runs_script: bool) -> bool:
    """Whether stdout is promised to a JSON document, known even when the rest cannot be parsed."""
    flags = _list_own_flags(argv, runs_script)
    spoken = [flag for _, flag in flags if flag in ("--json", "--no-json")]
    if spoken:
        return spoken[-1] == "--json"
    word = os.environ.get(ENVIRONMENT_PREFIX + "JSON", "")
    return word.strip().lower() in ("1", "true", "yes", "on")


def _has_attached_value(word: str, flag: str) -> bool:
    """Whether the value stands in the same word: `--module=x`, `-mx`, `-vmx`."""
    return "=" in word if flag.startswith("--") else word.index(flag[1]) < len(word) - 1


def _list_own_flags(argv: list[str], runs_script: bool = True) -> Iterator[tuple[int, str]]:
    """Position and name of each flag before SCRIPT; all of them where the command runs none."""
    with_value = {flag for s in list_settings().values() if not s.is_switch for flag in s.flags}
    position = 0
    while position < len(argv):
        word = argv[position]
        is_flag = word.startswith("-") and word != "-"
        if word == "--" or runs_script and not is_flag:
            return
        if not is_flag:
            position += 1
            continue
        flags = (
            [word.partition("=")[0]] if word.startswith("--") else _split_letters(word, with_value)
        )
        for flag in flags:
            yield position, flag
            if flag in list_settings()["module"].flags:
                return
        value_follows = flags[-1] in with_value and not _has_attached_value(word, flags[-1])
        position += 2 if value_follows else 1


def _split_letters(word: str, with_value: set[str]) -> list[str]:
    """The flags of a word such as `-vj4`: letters up to the first that takes a value."""
    flags = []
    for letter in word[1:]:
        flags.append("-" + letter)
        if flags[-1] in with_value:
            break
    return flags
