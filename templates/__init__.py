"""Everything a person reads: issue, regression test, page.

Layout lives in the `.j2` files, wording in the modules. `reporter` may import all of it; it never
imports `reporter`, of `anonymizer` only the words of a verdict, and reads report.json and the
repro alone, but for the side-by-side page, which stays in `private/`.

A name a template does not get is an error (`StrictUndefined`), never an empty place in somebody's
tracker. HTML is escaped by the engine; Markdown has no escape that holds, so text from outside goes
into fences, code spans and table cells through `templates.text`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import jinja2.sandbox

from templates import text

__all__ = ["build_engine", "build_user_engine", "collect_literals", "list_texts", "render"]

_SETTINGS: dict[str, Any] = {
    "undefined": jinja2.StrictUndefined,
    "autoescape": jinja2.select_autoescape(enabled_extensions=("html.j2",), default=False),
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
}
_FILTERS: dict[str, Callable[..., Any]] = {
    "fence": text.render_code_block,
    "cell": text.render_cell,
    "code": text.render_code,
    "pluralize": text.pluralize,
    "closed": text.close_blocks,
    "number": text.format_number,
    "one_line": text.fit_on_line,
    "span": text.render_span,
    "tidy_log": text.tidy_log,
}


@functools.lru_cache(maxsize=1)
def build_engine() -> jinja2.Environment:
    """The engine for our own templates."""
    made = jinja2.Environment(loader=jinja2.FunctionLoader(_read_source), **_SETTINGS)
    made.filters.update(_FILTERS)
    return made


def build_user_engine(folder: Path) -> jinja2.Environment:
    """The engine for a folder of the user's own: sandboxed; a file that is not in there is looked
    for among ours.
    """
    loaders = [jinja2.FileSystemLoader(folder), jinja2.FunctionLoader(_read_source)]
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        loader=jinja2.ChoiceLoader(loaders), **_SETTINGS
    )
    made.filters.update(_FILTERS)
    return made


def _read_source(name: str) -> str | None:
    """The text of our template `name`, such as `parts/log.md.j2`; None if there is none."""
    path = resources.files("templates")
    for part in name.split("/"):
        if part in ("", ".", ".."):
            return None
        path = path.joinpath(part)
    return path.read_text(encoding="utf-8") if path.is_file() else None


def render(name: str, **values: Any) -> str:
    """The template `name`, such as `report.html.j2`, filled in.

    Raises:
        jinja2.UndefinedError: the template uses a name that `values` lacks.
    """
    return build_engine().get_template(name).render(**values)


def list_texts(*endings: str) -> list[str]:
    """The texts of our files with one of these endings; a folder of the user's own is none of
    them.
    """
    return [
        item.read_text(encoding="utf-8")
        for item in _list_files(resources.files("templates"))
        if item.name.endswith(endings)
    ]


def collect_literals(template: str) -> str:
    """What a template puts out whatever it is given, and the strings in its expressions."""
    return "\n".join(
        text for _, kind, text in build_engine().lex(template) if kind in ("data", "string")
    )


def _list_files(folder: Any) -> Iterator[Any]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _list_files(item)
        else:
            yield item
