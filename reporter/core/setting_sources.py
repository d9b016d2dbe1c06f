"""Options are gathered from the places that may set them; the first that speaks wins.

In this order: the command line, the environment variable `BUGREPORT_<FIELD>`, the key
`<field-with-dashes>` of `[tool.bugreport]` in the nearest pyproject.toml, the same key at the top
of the user's own `config.toml`, the default. A value that cannot be used is refused with the name
of the place that it came from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from reporter.core import setting_readers
from reporter.core.errors import UsageError
from reporter.core.json_values import Json
from reporter.core.settings import Options, list_settings

ENVIRONMENT_PREFIX = "BUGREPORT_"


@dataclass(frozen=True)
class Source:
    """One place that sets options: its values, and how a message names that place and an option in
    it.
    """

    values: Mapping[str, object]
    name_of: Callable[[str], str]
    folder: Path


def resolve(
    given: Mapping[str, object],
    script: Path | None,
    args: tuple[str, ...],
    cwd: Path | None = None,
) -> Options:
    """Options from flags, then environment, project, user file, default; the first that has one
    wins.

    Args:
        given: field of `Options` -> value of its flag; None = not given.
        script: the program to run, if there is one.
        args: the program's own arguments.
        cwd: the folder that paths are relative to and the project is looked for from; None: that of
            this process.

    Raises:
        UsageError: a value cannot be used, a key is unknown, or a settings file is not TOML.
    """
    here = cwd or Path.cwd()
    found: dict[str, object] = {}
    for source in _list_sources(given, here):
        for name, value in source.values.items():
            if name not in found:
                found[name] = _read(name, value, source)
    return Options(script=script, args=args, cwd=here, **found)  # type: ignore[arg-type]


def _read(name: str, value: object, source: Source) -> object:
    try:
        result = list_settings()[name].read(value)
    except ValueError as wanted:
        place = source.name_of(name)
        raise UsageError(
            f"{place} is {value!r}, but must be {wanted}; correct it or leave it out"
        ) from None
    if isinstance(result, tuple):
        spoken = setting_readers.split_value(value) if list_settings()[name].many else result
        return tuple(_resolve_path(name, item, word, source) for item, word in zip(result, spoken))
    return _resolve_path(name, result, value, source)


def _resolve_path(name: str, item: object, spoken: object, source: Source) -> object:
    """A path as seen from the place that names it; anything else as it is."""
    if not isinstance(item, Path):
        return item
    if name in ("python", "differs_from") and not os.path.dirname(str(spoken)):
        return item  # a bare command name
    return Path(os.path.abspath(source.folder / item))


def _list_sources(given: Mapping[str, object], cwd: Path) -> Iterator[Source]:
    declared = list_settings()
    flags = {name: value for name, value in given.items() if value is not None}
    yield Source(flags, lambda name: declared[name].long_flag, cwd)

    variables = {name: ENVIRONMENT_PREFIX + name.upper() for name in declared}
    wanted = [name for name, setting in declared.items() if setting.everywhere]
    spoken = {name: os.environ.get(variables[name]) for name in wanted}
    # An empty variable counts as unset: it is how a CI job switches one off.
    yield Source({k: v for k, v in spoken.items() if v}, lambda name: variables[name], cwd)

    project = next((p for d in (cwd, *cwd.parents) if (p := d / "pyproject.toml").is_file()), None)
    if project is not None:
        yield _read_file_source(project, ("tool", "bugreport"))
    user = find_user_file()
    if user.is_file():
        yield _read_file_source(user, ())


def find_user_file() -> Path:
    """The user's own settings: `config.toml` in the configuration folder of the operating
    system.
    """
    import platformdirs  # only a command needs it, `--help` does not

    return platformdirs.user_config_path("bugreport", appauthor=False) / "config.toml"


def _read_file_source(path: Path, tables: tuple[str, ...]) -> Source:
    declared = list_settings()
    by_key = {n.replace("_", "-"): n for n, setting in declared.items() if setting.everywhere}
    place = f"[{'.'.join(tables)}] of {path}" if tables else str(path)
    table: object = _read_toml(path)
    for part in tables:
        table = table.get(part, {}) if isinstance(table, dict) else table
    if not isinstance(table, dict):
        raise UsageError(f"{place} must be a table of settings; write `key = value` lines")
    values = {}
    for key, value in table.items():
        name = by_key.get(key.replace("_", "-"))
        if name is None:
            import difflib  # only a mistake needs it

            near = difflib.get_close_matches(key, by_key, n=1) or sorted(by_key)
            raise UsageError(f"{place} has no setting {key!r}; there is {', '.join(near)}")
        values[name] = value
    return Source(values, lambda name: f"{name.replace('_', '-')} in {place}", path.parent)


def _read_toml(path: Path) -> Json:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    try:
        table: Json = tomllib.loads(path.read_text(encoding="utf-8"))
        return table
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"{path} cannot be read as TOML ({reason}); correct that file") from None
