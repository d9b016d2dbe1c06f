"""Everything a person reads: issue, regression test, page. Layout lives in the `.j2` files, wording in the modules.

A name a template does not get is an error (`StrictUndefined`), never an empty place in somebody's tracker. HTML is
escaped by the engine; Markdown has no escape that holds, so text from outside goes into fences and table cells
through `templates.text`.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import jinja2

from templates import text

__all__ = ["house_text", "render"]


@functools.lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_source),
        undefined=jinja2.StrictUndefined,
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.j2",), default=False),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        fence=text.fence,
        cell=text.cell,
        number=text.number,
        one_line=text.one_line,
        span=text.span,
    )
    return environment


def _source(name: str) -> str:
    return resources.files("templates").joinpath(name).read_text(encoding="utf-8")


def render(name: str, **values: Any) -> str:
    """The template `name`, such as `issue.md.j2`, filled in.

    Raises:
        jinja2.UndefinedError: the template uses a name that `values` lacks.
    """
    return _environment().get_template(name).render(**values)


@functools.lru_cache(maxsize=2)
def house_text(code: bool = False) -> str:
    """All text that is ours whatever the program, so that a word found in it is no evidence of a leak.

    Args:
        code: only what gets into program files (the regression test), not what gets into issue and page.
    """
    endings = (".py.j2",) if code else (".py", ".j2")
    return "\n".join(
        item.read_text(encoding="utf-8")
        for item in sorted(resources.files("templates").iterdir(), key=lambda item: item.name)
        if item.name.endswith(endings)
    )
