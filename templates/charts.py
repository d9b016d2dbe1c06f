"""The pictures of `report.html`: matplotlib's drawings as inline SVG that takes its colors and its
type from the page.

A drawing is made once and looks right in light, dark and print, because each color in it is a
stand-in that becomes a CSS variable of the page. Nothing in it is fetched, and its text stays text:
it can be searched, read aloud and, like all that leaves, checked for leaks. matplotlib takes a
while to import, so that happens when a picture is drawn.

Each `plot_…` returns one `<svg>` element for the page, of 7.4 inches' width, or an empty text where
there is nothing to show.
"""

from __future__ import annotations

import html
import importlib
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anonymizer.kinds import RungOutcome
from templates import tables
from templates.release_order import is_right
from templates.text import escape_unseen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Words of the markup itself, which say nothing of anybody's program.
MARKUP = tuple(
    """anchor aria butt clip clip-path clipPath dasharray defs img linecap linejoin matrix middle
    miter opacity path role rotate scale stroke svg transform translate viewBox xlink""".split()
)
#: Stand-in -> CSS variable. No two may look alike to the search below.
_COLORS = {
    "#010101": "text",
    "#020202": "faint",
    "#030303": "line",
    "#040404": "good",
    "#050505": "bad",
    "#060606": "hue-a",
    "#070707": "hue-b",
}
TEXT, FAINT, LINE, GOOD, BAD, EAGER, COMPILED = _COLORS
#: Other outcomes are `BAD`.
_OUTCOMES: Mapping[str, str] = {
    RungOutcome.OK: GOOD,
    RungOutcome.SKIPPED: FAINT,
    tables.NO_END: FAINT,
    tables.NOT_RUN: LINE,
}
_HEAT_LEVELS = 8
_HEAT = [f"#0808{level:02d}" for level in range(_HEAT_LEVELS + 1)]
_WIDTH = 7.4
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "bugreport",
    "font.size": 10.0,
    "text.color": TEXT,
    "text.parse_math": False,
    "axes.edgecolor": LINE,
    "axes.labelcolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "axes.formatter.use_mathtext": False,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def plot_ladder(report: Mapping[str, Any]) -> str:
    """Which variants of the repro fail: one cell for each backend or mode and each `dynamic`.

    Args:
        report: the document, of which `ladder` is drawn.
    """
    rows = tables.build_grid(report)
    if not rows:
        return ""
    with _make_figure(0.5 + 0.3 * len(rows)) as (figure, axes):
        for y, (name, cells) in enumerate(rows):
            label = name.replace("mode=", "mode ")
            axes.text(-0.05, y, _shorten(label, 30), ha="right", va="center")
            for x, cell in enumerate(cells):
                color = _OUTCOMES.get(cell.outcome, BAD)
                _draw_box(axes, x, y, color, 0.12 if cell.outcome == tables.NOT_RUN else 0.28)
                axes.text(x + 0.49, y, _shorten(cell.text, 28), ha="center", va="center")
        for x, name in enumerate(tables.list_columns(report)):
            axes.text(x + 0.49, -0.85, name, ha="center", va="center", color=FAINT)
        axes.set_xlim(-1.05, 3)
        axes.set_ylim(len(rows) - 0.4, -1.2)
        axes.axis("off")
        return _render_svg(
            figure, "ladder", "Outcome of the repro for each backend, mode and dynamic"
        )


def plot_divergence(found: Mapping[str, Any] | None) -> str:
    """Error against float64 after each operation of the repro's graph, for eager and compiled, on a
    log scale.

    Nothing for a single operation without an error: there is no course of it to show.

    Args:
        found: `divergence` of the pictures. Its points are in the order of the graph; `eager` and
            `compiled` are root mean squares.
    """
    points = list((found or {}).get("points") or ())
    if not points or len(points) == 1 and not any(points[0].get(n) for n in ("eager", "compiled")):
        return ""
    errors = [point.get(name) for point in points for name in ("eager", "compiled")]
    positive = [value for value in errors if value]
    floor = 10.0 ** math.floor(math.log10(min(positive))) / 10 if positive else 1e-8
    top = max([*positive, floor * 100]) * 10
    with _make_figure(2.9) as (figure, axes):
        axes.set_yscale("log")
        axes.set_ylim(floor / 1.5, top)
        positions = range(len(points))
        for name, color, marker in (("eager", EAGER, "o"), ("compiled", COMPILED, "s")):
            known = [
                (x, max(p[name], floor))
                for x, p in zip(positions, points)
                if p.get(name) is not None
            ]
            if known:
                axes.plot(*zip(*known), color=color, marker=marker, markersize=5, label=name)
        for x, point in zip(positions, points):
            if point.get("error"):
                axes.axvline(x, color=BAD, linewidth=0.8, linestyle=":")
                side = "right" if x > len(points) / 2 else "left"
                said = f" {_shorten(str(point['error']), 30)} "
                axes.text(x, top / 2.5, said, color=BAD, ha=side, va="top")
        axes.set_xticks(list(positions), [_name_operator(point) for point in points])
        axes.tick_params(axis="x", labelrotation=25 if len(points) > 3 else 0)
        for label in axes.get_xticklabels() if len(points) > 3 else ():
            label.set_horizontalalignment("right")
        axes.set_xlim(-0.4, len(points) - 0.6)
        decades = round(math.log10(top / floor))
        ticks = [floor * 10**i for i in range(0, decades, max(1, decades // 5))]
        axes.set_yticks(ticks, ["0", *(f"{tick:.0e}" for tick in ticks[1:])])
        axes.minorticks_off()
        reference = {point.get("reference") for point in points} - {None, "float64"}
        axes.set_ylabel("RMS error vs " + ("eager" if reference else "float64"))
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderpad=0)
        return _render_svg(figure, "divergence", "Error of eager and compiled after each operation")


def plot_error_map(found: Mapping[str, Any] | None) -> str:
    """Where in the worst output the error sits: the largest error in each cell, dark or bright
    where it is large.

    Args:
        found: `error_map` of the pictures with its `cells`: rows of absolute errors, None for one
            that is not finite. A cell stands for `step` rows and columns of the output.
    """
    cells = (found or {}).get("cells") or []
    if not cells or not any(value is None or value for row in cells for value in row):
        return ""
    rows, columns = len(cells), len(cells[0])
    levels, top, bottom = _group_by_level(cells)
    with _make_figure(min(4.2, max(1.2, 0.7 + rows * min(0.5, 6.0 / columns)))) as (figure, axes):
        for level, boxes in sorted(levels.items()):
            _draw_boxes(axes, boxes, _HEAT[level])
        axes.set_xlim(0, columns)
        axes.set_ylim(rows, 0)
        axes.set_aspect("equal" if 0.2 < columns / rows < 8 else "auto")
        _label_ends(axes.xaxis, columns, (found or {})["step"][1])
        _label_ends(axes.yaxis, rows, (found or {})["step"][0])
        axes.set_xlabel("last dimension")
        axes.set_ylabel("the others" if rows > 1 else "")
        _draw_heat_scale(axes, bottom, top)
        return _render_svg(figure, "error-map", "Where in the output the error sits")


def plot_reduction(history: Sequence[Sequence[int]]) -> str:
    """The size of the smallest failing program against the candidates that had run by then.

    Args:
        history: rows of candidates, tensor operations and lines, the first program first.
    """
    if len(history) < 2:
        return ""
    with _make_figure(2.3) as (figure, axes):
        counts = [row[0] for row in history]
        for column, color, label in ((1, COMPILED, "tensor operations"), (2, FAINT, "lines")):
            sizes = [row[column] for row in history]
            axes.step(counts, sizes, where="post", color=color, label=label)
            axes.annotate(
                str(sizes[-1]),
                (counts[-1], sizes[-1]),
                textcoords="offset points",
                xytext=(4, 0),
                va="center",
                color=color,
            )
        if max(row[2] for row in history) > 300:
            axes.set_yscale("log")
            axes.minorticks_off()
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        else:
            axes.set_ylim(bottom=0)
        axes.set_xlabel("candidates")
        axes.set_ylabel("size")
        axes.grid(axis="y", color=LINE, linewidth=0.6)
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderpad=0)
        return _render_svg(figure, "reduction", "Size of the program against candidates")


def plot_releases(rows: Sequence[tuple[str, str]]) -> str:
    """Each release that was tried, right or wrong.

    Args:
        rows: release and what was seen there, oldest first.
    """
    if len(rows) < 2:
        return ""
    with _make_figure(1.0) as (figure, axes):
        axes.plot(range(len(rows)), [0] * len(rows), color=LINE, zorder=1)
        for x, (release, seen) in enumerate(rows):
            right = is_right(seen)
            color = FAINT if right is None else GOOD if right else BAD
            axes.plot([x], [0], marker="o" if right else "X", markersize=10, color=color)
            axes.text(x, 0.5, _shorten(release, 24), ha="center", va="bottom")
            axes.text(x, -0.5, _shorten(seen, 24), ha="center", va="top", color=color)
        axes.set_xlim(-0.6, len(rows) - 0.4)
        axes.set_ylim(-1.6, 1.6)
        axes.axis("off")
        return _render_svg(figure, "releases", "What each torch release does with the repro")


def import_matplotlib() -> None:
    """Does ahead of time what the first chart would wait a second or more for."""
    for name in ("matplotlib.figure", "matplotlib.backends.backend_svg"):
        importlib.import_module(name)


# -- drawing ---------------------------------------------------------------------------------------


@contextmanager
def _make_figure(height: float) -> Iterator[tuple[Figure, Axes]]:
    """A figure of the page's width and `height` inches, drawn with our settings whatever the user's
    own are.
    """
    import matplotlib
    from matplotlib.figure import Figure

    default: Any = matplotlib.rcParamsDefault
    plain: Any = {key: value for key, value in default.items() if key != "backend"} | _SETTINGS
    with matplotlib.rc_context(plain):
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        yield figure, figure.subplots()


def _render_svg(figure: Figure, name: str, label: str) -> str:
    """The drawing as an element for the page."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    stream = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    draw: Any = FigureCanvasSVG(figure).print_svg  # matplotlib gives it no types
    draw(stream, metadata=nothing)
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(
        r"<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", "", text, flags=re.DOTALL
    )
    text = re.sub(r'\s+(?:xmlns(?::\w+)?|version|width|height)="[^"]*"', "", text, count=5)
    text = _rename_ids(text, name)
    text = re.sub(r'="[^"]*"', lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found.group()), text)
    # matplotlib writes `font: 10px 'DejaVu Sans', …`, or since 3.11 the family by itself
    text = re.sub(r"(font: [\d.]+px|font-family:) [^;\"]+", r"\1 var(--type)", text)
    for color, variable in _COLORS.items():
        text = text.replace(color, f"var(--{variable})")
    for level, color in enumerate(_HEAT):
        text = text.replace(color, f"var(--heat-{level})")
    head = f'<svg class="chart" data-chart="{name}" role="img" aria-label="{html.escape(label)}"'
    return re.sub(r"\n\s*", "\n", head + text.removeprefix("<svg")).strip()


def _rename_ids(text: str, name: str) -> str:
    """Ids that something refers to, made this drawing's own; the others say nothing and go."""
    wanted = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))

    def rename(found: re.Match[str]) -> str:
        return f' id="{name}-{found.group(1)}"' if found.group(1) in wanted else ""

    text = re.sub(r'\s+id="([^"]*)"', rename, text)
    return re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", text)


def _shorten(text: str, limit: int) -> str:
    text = escape_unseen(" ".join(text.split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _name_operator(point: Mapping[str, Any]) -> str:
    name = str(point.get("operator") or "?")
    for prefix in ("torch.nn.functional.", "torch.ops.", "torch.", "operator."):
        name = name.removeprefix(prefix)
    return _shorten(f"{point['position'] + 1} {name}", 26)


def _draw_box(axes: Axes, x: float, y: float, color: str, alpha: float) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(
        Rectangle((x, y - 0.46), 0.98, 0.92, facecolor=color, alpha=alpha, edgecolor="none")
    )


def _draw_boxes(axes: Axes, boxes: Sequence[tuple[int, int, int]], color: str) -> None:
    """Runs of cells (row, first column, one past the last) as one path."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners, codes = [], []
    for row, start, end in boxes:
        corners += [(start, row), (end, row), (end, row + 1), (start, row + 1), (start, row)]
        codes += [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    axes.add_patch(PathPatch(Path(corners, codes), facecolor=color, edgecolor="none"))


def _group_by_level(
    cells: Sequence[Sequence[float | None]],
) -> tuple[dict[int, list[tuple[int, int, int]]], float, float]:
    """Runs of equal level by level, and the errors of the highest and the lowest level above
    nothing.

    Levels are logarithmic over at most six decades, 0 for no error; an error that is not finite is
    of the highest.
    """
    finite = [value for row in cells for value in row if value]
    top = max(finite, default=1.0)
    bottom = max(min(finite, default=1.0), top * 1e-6)
    span = math.log10(top / bottom) or 1.0

    def compute_level(value: float | None) -> int:
        if value is None:
            return _HEAT_LEVELS
        if not value:
            return 0
        return (
            1 + round((_HEAT_LEVELS - 1) * max(0.0, math.log10(value / bottom)) / span)
            if top > bottom
            else _HEAT_LEVELS
        )

    found: dict[int, list[tuple[int, int, int]]] = {}
    for number, row in enumerate(cells):
        start = 0
        for end in range(1, len(row) + 1):
            if end == len(row) or compute_level(row[end]) != compute_level(row[start]):
                found.setdefault(compute_level(row[start]), []).append((number, start, end))
                start = end
    return found, top, bottom


def _label_ends(axis: Any, cells: int, step: int) -> None:
    """Ticks at the first and the last cell, in elements of the tensor."""
    positions = [0.5, cells - 0.5] if cells > 1 else [0.5]
    axis.set_ticks(positions, [str(int((position - 0.5) * step)) for position in positions])


def _draw_heat_scale(axes: Axes, bottom: float, top: float) -> None:
    """The levels beside the map, with what they mean."""
    from matplotlib.patches import Rectangle

    for level in range(_HEAT_LEVELS + 1):
        axes.add_patch(
            Rectangle(
                (1.03, level / (_HEAT_LEVELS + 1)),
                0.025,
                1 / (_HEAT_LEVELS + 1),
                transform=axes.transAxes,
                facecolor=_HEAT[level],
                edgecolor="none",
                clip_on=False,
            )
        )
    for position, said in ((0.03, "0"), (0.97, f"{top:.2g}")):
        axes.text(1.07, position, said, transform=axes.transAxes, va="center", color=FAINT)
    if top > bottom:
        axes.text(
            1.07,
            0.5,
            f"{math.sqrt(top * bottom):.2g}",
            transform=axes.transAxes,
            va="center",
            color=FAINT,
        )
