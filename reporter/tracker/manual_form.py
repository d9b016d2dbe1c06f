"""Filing by hand: the form opens with the title in it, and the text areas, which no address can
fill, are printed to be pasted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

from reporter.tracker.repository import Repository
from reporter.tracker.submission import Submission
from templates.text import count_bytes

_URL_LIMIT = 8192
_MARGIN = 192
#: Projects whose issues go through a form, by its file name.
_FORMS = {"pytorch/pytorch": "pt2-bug-report.yml"}


@dataclass(frozen=True)
class ManualForm:
    """The address to open, and the sections by heading in the order of the form; one without
    headings has one section.
    """

    url: str
    sections: tuple[tuple[str, str], ...]


def build_form(repository: Repository, draft: Submission) -> ManualForm:
    """The form of a project.

    The address stays under the limit of 8,192 bytes: the title is cut, then the body left out.
    """
    template = _FORMS.get(repository.full_name.lower())
    address = f"{repository.url}/issues/new?"
    if template:
        address += f"template={quote(template)}&"
    title = draft.text.title
    while len(address) + len(quote(title, safe="")) + len("title=") > _URL_LIMIT - _MARGIN:
        title = title[: len(title) * 3 // 4]
    url = f"{address}title={quote(title, safe='')}"
    if template:
        return ManualForm(url, tuple(_split_sections(draft.text.body)))
    with_body = f"{url}&body={quote(draft.text.body, safe='')}"
    return ManualForm(
        with_body if count_bytes(with_body) < _URL_LIMIT else url, (("", draft.text.body),)
    )


def _split_sections(body: str) -> list[tuple[str, str]]:
    """The body by its third-level headings; those inside code blocks are none."""
    sections: list[tuple[str, list[str]]] = []
    fence = ""
    for line in body.split("\n"):
        ticks = re.match(r"`{3,}", line)
        if ticks and not fence:
            fence = ticks.group()
        elif fence and line.strip() == fence:
            fence = ""
        if line.startswith("### ") and not fence:
            sections.append((line[4:].strip(), []))
        elif sections:
            sections[-1][1].append(line)
        elif line.strip():
            sections.append(("", [line]))
    return [(heading, "\n".join(lines).strip()) for heading, lines in sections]
