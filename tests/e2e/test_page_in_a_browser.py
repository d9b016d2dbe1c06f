"""The page with the pictures in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from templates.side_by_side import render_side_by_side
from tests.support import outgoing_data as data
from tests.support.pages import CHARTS, page

#: Measures every picture and every text in it once the page is laid out.
_MEASURE = """<script>
const found = [...document.querySelectorAll("svg.chart")].map(svg => {
  const box = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")]
    .map(t => [t.textContent.trim(), t.getBoundingClientRect()]);
  const colors = [...svg.querySelectorAll("*")]
    .flatMap(e => [getComputedStyle(e).fill, getComputedStyle(e).stroke]);
  return {name: svg.dataset.chart, width: box.width, height: box.height,
    outside: texts
      .filter(([_, r]) => r.left < box.left - 2 || r.right > box.right + 2
        || r.top < box.top - 2 || r.bottom > box.bottom + 2)
      .map(([t]) => t),
    colors: new Set(colors).size};
});
const body = getComputedStyle(document.body);
document.title = JSON.stringify({
  charts: found, wide: document.documentElement.scrollWidth - window.innerWidth,
  page: body.backgroundColor, text: body.color});
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
        assert chart["colors"] >= 3, chart
    assert found["wide"] <= 0  # nothing sticks out of the page
    light = found["page"] == "rgb(255, 255, 255)"
    assert light == (scheme == "light") and found["page"] != found["text"]


@pytest.mark.slow
def test_a_browser_shows_both_sides(tmp_path: Path) -> None:
    repro = data.text(data.GRADIENT)
    facts = {"outputs with the private weights": "bit by bit"}
    text = render_side_by_side(
        repro, {"Repro": ["app.Head"]}, {"app.py": "class Head:\n    pass\n"}, facts
    )
    found, console = _in_browser(text, tmp_path, "--window-size=1000,2000")
    assert console == "" and found["wide"] <= 0
