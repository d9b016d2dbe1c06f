"""The page with the pictures: complete, self-contained, and well-formed."""

from __future__ import annotations

import html.parser
import re

from templates.page import render_page
from tests.support import outgoing_data as data
from tests.support.pages import CHARTS, page


class Elements(html.parser.HTMLParser):
    """What a page loads, and which pictures it has with which text."""

    def __init__(self) -> None:
        super().__init__()
        self.charts: dict[str, list[str]] = {}
        self.fetched: list[str] = []
        self.current: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in ("script", "link", "img", "iframe"):
            self.fetched.append(tag)
        self.fetched += [str(v) for k, v in attrs if k in ("src", "href") and v]
        if tag == "svg":
            self.current = self.charts.setdefault(str(values["data-chart"]), [])
            assert values["role"] == "img" and values["aria-label"]

    def handle_endtag(self, tag: str) -> None:
        if tag == "svg":
            self.current = None

    def handle_data(self, data: str) -> None:
        if self.current is not None and data.strip():
            self.current.append(data.strip())


def test_the_page_has_every_picture_and_fetches_nothing() -> None:
    text = page()
    seen = Elements()
    seen.feed(text)
    assert set(seen.charts) == CHARTS and seen.fetched == []
    assert not re.search(r"https?:|url\((?!#)|@import", text)
    assert len(text.encode()) < 1_000_000
    said = {name: " ".join(words) for name, words in seen.charts.items()}
    assert "3 pairwise_distance" in said["divergence"] and "compiled" in said["divergence"]
    assert "aot_eager" in said["ladder"] and "differs" in said["ladder"]
    assert "2.6.0" in said["releases"] and "candidates" in said["reduction"]
    assert "graph break: call to &lt;b&gt;graph_break" in text
    # colors and type are the page's own, so that they follow light, dark and print
    assert "var(--hue-b)" in text and "#0" not in "".join(re.findall(r"<svg.*?</svg>", text, re.S))


def test_a_page_without_measurements_has_the_ladder_alone() -> None:
    seen = Elements()
    seen.feed(render_page(data.with_issue(data.crash_report().to_json()), "x = 1"))
    assert set(seen.charts) == {"ladder"}


class Tags(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag != "script" and not any(name in ("src", "href") for name, _ in attrs)
        for name, value in attrs:
            assert name != "xlink:href" or (value or "").startswith("#")
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_has_the_compile_phases_that_torch_timed() -> None:
    report = data.with_issue(data.crash_report().to_json())
    assert "Compile phases" not in render_page(report, "x = 1")
    report["evidence"] = {"compile_seconds": {"dynamo": 2.5, "code generation": 0.25}}
    rows = re.findall(
        r"<tr><td>(.*?)</td><td class=.number.>(.*?)</td></tr>", render_page(report, "")
    )
    assert rows[-2:] == [("dynamo", "2.500"), ("code generation", "0.250")]


def test_page_is_escaped_self_contained_and_well_formed() -> None:
    report = data.with_issue(data.crash_report().to_json(), error_log="<script>alert(1)</script>")
    page = render_page(report, data.text(data.CRASH))
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert "prefers-color-scheme: dark" in page and not re.search(r"https?://", page)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
