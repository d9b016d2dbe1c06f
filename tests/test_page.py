"""The page with the pictures: complete, self-contained, and readable in a real browser."""

from __future__ import annotations

import html.parser
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from anonymizer.audit import Identity, private_terms
from reporter.outgoing import check_outgoing
from templates import charts
from templates.issue import Evidence
from templates.page import render_page
from templates.side_by_side import side_by_side
from tests import outgoing_data as data

CHARTS = {"ladder", "divergence", "error-map", "reduction", "releases"}
OPERATORS = ("torch.nn.functional.pad", "torch.chunk", "torch.nn.functional.pairwise_distance")


def document() -> dict[str, Any]:
    """A report with something to show in every picture."""
    points = [
        {
            "position": position,
            "operator": operator,
            "eager": 1.5e-7 * position,
            "compiled": [0.0, 1.5e-7, 0.86][position],
            "reference": "float64",
        }
        for position, operator in enumerate(OPERATORS)
    ]
    spread = {"output": 0, "of": 1, "shape": [64, 128], "step": [1, 2], "max": 1.2, "off": 900}
    return {
        **data.gradient_report().to_json(),
        "exhibit": {
            "graphs": 2,
            "graph_breaks": [{"line": 9, "reason": "call to <b>graph_break</b>"}],
            "divergence": {"graph": 0, "of": 3, "points": points},
            "error_map": {**spread, "elements": 8192, "reference": "float64"},
        },
        "reduction": [[1, 40, 80], [5, 6, 44], [31, 2, 38]],
        "differs_from": [{"torch": "2.6.0", "python": "3.11.7", "outcome": "passes"}],
    }


def cells() -> list[list[float | None]]:
    """No two neighbours alike, which makes the largest drawing; one value is not finite."""
    rows: list[list[float | None]] = [
        [10.0 ** -((x * 7 + y * 3) % 8) for x in range(64)] for y in range(64)
    ]
    rows[3][4] = None
    return rows


def page(**changes: Any) -> str:
    evidence = Evidence(data.text(data.GRADIENT), data.ENVIRONMENT, "0.1.0", "Traceback: no")
    return render_page(document(), replace(evidence, **changes), cells())


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
    # colours and type are the page's own, so that they follow light, dark and print
    assert "var(--hue-b)" in text and "#0" not in "".join(re.findall(r"<svg.*?</svg>", text, re.S))


def test_a_page_without_measurements_has_the_ladder_alone() -> None:
    seen = Elements()
    seen.feed(render_page(data.crash_report().to_json(), Evidence("x = 1", {}, "0.1.0")))
    assert set(seen.charts) == {"ladder"}


@pytest.mark.parametrize("hostile", ["$x^2$ $", "</svg><script>", "a & b", "\u202e", "x" * 300])
def test_hostile_names_in_pictures(hostile: str) -> None:
    found = {
        "points": [{"position": 0, "operator": hostile, "eager": 0.0, "compiled": 1.0}],
        "of": 1,
    }
    drawn = charts.divergence(found) + charts.releases([("1.0", hostile), (hostile, "right")])
    assert "<script" not in drawn and "\u202e" not in drawn
    assert drawn.count("<svg") == drawn.count("</svg>") == 2


def test_no_error_and_no_number_can_be_drawn() -> None:
    nothing = {"position": 0, "operator": None, "eager": 0.0, "compiled": 0.0}
    raised = {"position": 1, "operator": None, "eager": None, "error": "KeyError"}
    assert "<svg" in charts.divergence({"points": [nothing, nothing]})
    assert "KeyError" in charts.divergence({"points": [nothing, raised]})
    assert charts.divergence({"points": [raised]}) == ""
    assert charts.divergence(None) == charts.error_map(None) == charts.reduction([]) == ""
    assert charts.error_map({"cells": [[0.0]], "step": [1, 1]}) == ""
    assert "<svg" in charts.error_map({"cells": [[None]], "step": [1, 1]})


def test_the_leak_check_reads_the_pictures() -> None:
    source = "def wobble_quorum(x):\n    return x\n"
    terms = private_terms({"script.py": source}, data.torch_vocabulary(), ())
    who = Identity("/home/someone", "someone", "host")
    clean = check_outgoing({"report.html": page()}, terms, internals=data.INTERNALS, identity=who)
    assert clean.passed, clean.findings
    report = document()
    report["exhibit"]["divergence"]["points"][0]["operator"] = "wobble_quorum"
    evidence = Evidence(data.text(data.GRADIENT), data.ENVIRONMENT, "0.1.0")
    leaky = {"report.html": render_page(report, evidence, cells())}
    found = check_outgoing(leaky, terms, internals=data.INTERNALS, identity=who)
    assert any(finding.term == "wobble_quorum" for finding in found.findings)


#: Measures every picture and every text in it once the page is laid out.
_MEASURE = """<script>
const found = [...document.querySelectorAll("svg.chart")].map(svg => {
  const box = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map(t => [t.textContent.trim(), t.getBoundingClientRect()]);
  return {name: svg.dataset.chart, width: box.width, height: box.height,
    outside: texts.filter(([_, r]) => r.left < box.left - 2 || r.right > box.right + 2 || r.top < box.top - 2 || r.bottom > box.bottom + 2).map(([t]) => t),
    colours: [...new Set([...svg.querySelectorAll("*")].flatMap(e => [getComputedStyle(e).fill, getComputedStyle(e).stroke]))].length};
});
document.title = JSON.stringify({charts: found, wide: document.documentElement.scrollWidth - window.innerWidth,
  page: getComputedStyle(document.body).backgroundColor, text: getComputedStyle(document.body).color});
</script>"""


def _in_browser(text: str, tmp_path: Path, *options: str) -> tuple[dict[str, Any], str]:
    """What the script found, and what the browser's console said."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        pytest.skip("there is no Chromium; on Debian, apt-get install chromium")
    path = tmp_path / "page.html"
    path.write_text(text.replace("</body>", _MEASURE + "</body>"), encoding="utf-8")
    command = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}", *options]
    done = subprocess.run([*command, f"file://{path}"], capture_output=True, text=True, timeout=120)
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.S)
    assert title is not None, done.stderr[-2000:]
    console = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    found: dict[str, Any] = json.loads(title.group(1).replace("&quot;", '"').replace("&amp;", "&"))
    return found, console


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 420])
def test_a_browser_shows_the_pictures(scheme: str, width: int, tmp_path: Path) -> None:
    dark = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    found, console = _in_browser(page(), tmp_path, f"--window-size={width},3000", *dark)
    assert console == ""
    assert {chart["name"] for chart in found["charts"]} == CHARTS
    for chart in found["charts"]:
        assert chart["width"] > 300 and chart["height"] > 40, chart
        assert chart["outside"] == [], chart
        assert chart["colours"] >= 3, chart
    assert found["wide"] <= 0  # nothing sticks out of the page
    light = found["page"] == "rgb(255, 255, 255)"
    assert light == (scheme == "light") and found["page"] != found["text"]


@pytest.mark.slow
def test_a_browser_shows_both_sides(tmp_path: Path) -> None:
    repro = data.text(data.GRADIENT)
    facts = {"outputs with the private weights": "bit by bit"}
    text = side_by_side(
        repro, {"Repro": ["app.Head"]}, {"app.py": "class Head:\n    pass\n"}, facts
    )
    found, console = _in_browser(text, tmp_path, "--window-size=1000,2000")
    assert console == "" and found["wide"] <= 0
