"""Which releases and interpreters a command is to use, from what its options say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from reporter.core.errors import CannotJudgeError
from reporter.core.settings import InterpreterOptions
from reporter.environments import index
from reporter.environments.release import Release, build_interpreter_release, parse
from reporter.execution import interpreter


@dataclass(frozen=True)
class Selection:
    """Where to check, as the command line says it: `--torch`, `--python`, `--index` and
    `--torch-backend`; `releases` are known already. Where none of them says it, it is in the
    `usual` interpreter, that of the other commands.
    """

    torch: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    index: str | None = None
    backend: str | None = None
    releases: tuple[Release, ...] = ()
    usual: InterpreterOptions = field(default_factory=InterpreterOptions)


def select_releases(selection: Selection) -> tuple[Release, ...]:
    """The places of a selection.

    Raises:
        UsageError: a word is no release, or an interpreter does not exist.
    """
    found = {release.key: release for release in selection.releases}
    for text in (part for given in selection.torch for part in given.split(",")):
        if index.is_word(text.strip()):
            release = _look_up(text.strip(), selection)
        else:
            release = parse(text, selection.index, selection.backend)
        found.setdefault(release.key, release)
    for given in selection.python:
        python = interpreter.find(replace(selection.usual, python=_resolve_path(given)))
        found.setdefault(str(python), build_interpreter_release(python))
    if not found:
        python = interpreter.find(selection.usual)
        found[str(python)] = build_interpreter_release(python)
    return tuple(found.values())


def _look_up(word: str, selection: Selection) -> Release:
    """What `latest` and the like mean; where the index does not say, that is a result, and other
    places are checked all the same.
    """
    try:
        return index.find(word, selection.index, selection.backend)
    except CannotJudgeError as error:
        return Release(word, problem=str(error))


def _resolve_path(given: str) -> Path:
    path = Path(given).expanduser()
    return path if len(path.parts) == 1 else path.absolute()
