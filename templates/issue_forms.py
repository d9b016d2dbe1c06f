"""What a tracker asks for, as data: each form is a folder with `form.toml` (repository, headings,
limit, labels) and `issue.md.j2`.

The tool brings those of `list_forms()`. A folder of the user's own is another: the same reader
takes it, Jinja's sandbox fills it in, and it may include our `parts/`. It is tried on a sample
before a run begins, so that its mistakes cost seconds and not the run.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2

from anonymizer.kinds import Layer
from templates import build_engine, build_user_engine

FORM, ISSUE = "form.toml", "issue.md.j2"
#: The form of a feature request.
REQUEST = "feature"
#: What GitHub takes, in characters; a form of the user's own has it unless it says otherwise.
LIMIT = 65_536


class FormError(Exception):
    """Raised when a folder is no form; the text is a clause that names the file and what is wrong
    with it.
    """


@dataclass(frozen=True)
class IssueForm:
    """One tracker's demands.

    `headings` are the lines that the body must have, in this order and no other; `limit` is in
    characters; `labels` are those that may be asked for (none given: all), `forbidden` patterns of
    those that never may. `folder` is where a form of the user's own lies.
    """

    name: str
    title: str = ""
    repository: str | None = None
    headings: tuple[str, ...] = ()
    limit: int = LIMIT
    labels: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ("high priority", "triaged", "sev*")
    folder: Path | None = None

    @property
    def public_name(self) -> str:
        """The name as a report has it, which does not tell the user's own."""
        return self.name if self.folder is None else "own"

    def allow(self, labels: Iterable[str]) -> tuple[str, ...]:
        """Those of `labels` that may be asked for here, in their order."""
        return tuple(
            label
            for label in labels
            if (not self.labels or label in self.labels) and not self.forbids(label)
        )

    def forbids(self, label: str) -> bool:
        """Whether a label is for the maintainers alone to give."""
        return any(fnmatch.fnmatchcase(label.lower(), pattern) for pattern in self.forbidden)


def list_forms() -> tuple[str, ...]:
    """The forms that the tool brings."""
    return tuple(sorted(item.name for item in _find_home().iterdir() if item.is_dir()))


def choose_form(layer: Layer) -> str:
    """The form of the project that is at fault, where the user names none; a backend of one's own
    is no project we know.
    """
    return {Layer.TRITON: "triton", Layer.BACKEND: "plain"}.get(layer, "pytorch")


def load(name: str | Path) -> IssueForm:
    """The form `name`: one of `list_forms()`, or a folder.

    Raises:
        FormError: there is no such form, or its files are not what a form needs.
    """
    if not isinstance(name, Path):
        if name not in list_forms():
            raise FormError(f"{name!r} is none of {', '.join(list_forms())}")
        folder = _find_home().joinpath(name)
        return _build_form(
            name, _parse_table(folder.joinpath(FORM).read_text(encoding="utf-8"), FORM), None
        )
    if not name.is_dir():
        raise FormError(f"{name} is neither one of {', '.join(list_forms())} nor a folder")
    if not (name / ISSUE).is_file():
        raise FormError(f"{name} has no {ISSUE}")
    settings = name / FORM
    return _build_form(
        name.name, _parse_table(_read(settings), settings) if settings.exists() else {}, name
    )


def _find_home() -> Any:
    return resources.files("templates").joinpath("issues")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FormError(f"{path} cannot be read ({getattr(error, 'strerror', error)})") from None


def _parse_table(text: str, path: object) -> dict[str, Any]:
    try:
        import tomllib
    except ModuleNotFoundError:  # Python 3.10
        import tomli as tomllib
    try:
        table: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormError(f"{path} is not TOML ({error})") from None
    return table


def _build_form(name: str, table: Mapping[str, Any], folder: Path | None) -> IssueForm:
    location = str(folder / FORM) if folder else f"{name}/{FORM}"
    wanted = {item.name for item in fields(IssueForm)} - {"name", "folder"}
    unknown = sorted(set(table) - wanted)
    if unknown:
        raise FormError(
            f"{location} has no key {unknown[0]!r}; there is {', '.join(sorted(wanted))}"
        )
    values = {key: _check_value(key, value, location) for key, value in table.items()}
    return IssueForm(name=name, folder=folder, **values)


def _check_value(key: str, value: object, location: str) -> Any:
    if key in ("title", "repository"):
        if isinstance(value, str):
            return value
        raise FormError(f"{key} in {location} must be a text")
    if key == "limit":
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        raise FormError(f"{key} in {location} must be a whole number of characters")
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise FormError(f"{key} in {location} must be a list of texts")


def fill(form: IssueForm, values: Mapping[str, Any]) -> str:
    """The body of an issue by `form`.

    Args:
        values: what the templates name, as `collect_values` of `templates.issue` has them.

    Returns:
        Markdown.

    Raises:
        FormError: a template of the user's own is not one, uses a name that there is not, or does
            what the sandbox refuses.
    """
    if form.folder is None:
        return build_engine().get_template(f"issues/{form.name}/{ISSUE}").render(**values)
    folder = form.folder
    try:
        return build_user_engine(folder).get_template(ISSUE).render(**values)
    except jinja2.TemplateSyntaxError as error:
        where = error.filename or error.name or ISSUE
        raise FormError(f"{where}, line {error.lineno}: {error.message}") from None
    except jinja2.TemplateNotFound as error:
        raise FormError(f"{folder / ISSUE} includes {error.name}, which is not there") from None
    except jinja2.exceptions.SecurityError as error:
        raise FormError(f"{folder / ISSUE} does what a template may not: {error}") from None
    except jinja2.UndefinedError as error:
        raise FormError(f"{folder / ISSUE} uses what there is not: {error.message}") from None
    except (
        Exception
    ) as error:  # a filter on the wrong type, a division by zero: the template's doing
        detail = " ".join(str(error).split())[:200]
        raise FormError(f"{folder / ISSUE} fails: {type(error).__name__}: {detail}") from None
