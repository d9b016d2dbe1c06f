"""The documents keep their form: short lines, a short README, each link and name of a file true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.places import ROOT

COLUMNS = 100
README_LINES = 150
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FRONT = [
    ROOT / f"{name}.md"
    for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG")
]
#: A path of the repository in backquotes, such as `reporter/core/errors.py` or `docs/images/`.
PATHS = re.compile(
    r"`((?:anonymizer|bench|collectors|docs|examples|reporter|templates|tests)/[\w./-]*)`"
)
#: A room in backquotes, `collectors.dynamo`.
ROOMS = re.compile(r"`((?:anonymizer|collectors|reporter)\.(?!py`)[a-z_.]+)`")
#: A name of the code in backquotes with an underscore or a capital, `Release.folder_name`.
NAMES = re.compile(r"`(?:\w+\.)?(?=\w*[_A-Z])(\w+)`")
#: What defines a name: a function, a class, a field or a constant.
DEFINED = re.compile(r"^ *(?:(?:async )?def |class |(?=\w+(?:: | = )))(\w+)", re.MULTILINE)
BENCHES = re.compile(r"\b(bench/\w+\.py)\b")
HOSTS = re.compile(r"pypi\.org|pythonhosted|anaconda\.org|download\.pytorch|/root\b|/work\b|/home/")


@pytest.mark.parametrize("page", [*FRONT, *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_fit_to_read(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not [line for line in text.splitlines() if len(line) > COLUMNS]
    assert not HOSTS.search(text)
    named = {*PATHS.findall(text), *BENCHES.findall(text)}
    assert not [name for name in named if not (ROOT / name).exists()]
    rooms = {name.replace(".", "/") for name in ROOMS.findall(text)}
    assert not [n for n in rooms if not ((ROOT / n).is_dir() or (ROOT / f"{n}.py").is_file())]


def test_the_typical_changes_name_what_is_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("## Three typical changes") : text.index("## The tests")]
    defined = {
        name
        for package in ("anonymizer", "collectors", "reporter", "templates")
        for module in (ROOT / package).rglob("*.py")
        for name in DEFINED.findall(module.read_text(encoding="utf-8"))
    }
    named = set(NAMES.findall(section))
    assert named >= {"judge_difference", "RUNGS", "Backend"}
    assert named <= defined


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= README_LINES
    for page in FRONT:
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        assert not [link for link in links if not (ROOT / link).exists()], page


def test_the_picture_is_small() -> None:
    assert (ROOT / "docs" / "images" / "report.png").stat().st_size < 200_000


def test_every_page_stands_in_the_navigation() -> None:
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert not [p for p in PAGES if str(p.relative_to(ROOT / "docs")) not in site]
