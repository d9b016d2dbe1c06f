"""What of a program stays visible in its report, on one screen: who knows the program could
recognize it by that.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reporter.core.errors import UsageError
from reporter.core.json_values import Json
from reporter.report.captured_call import CapturedCall
from reporter.report.folder import PRIVATE, RECORDING
from reporter.report.sections.report_document import Report
from reporter.tracker.public_models import ChainUse, find_chain
from templates.text import pluralize

#: Bytes of a recording that is read for the path of its interpreter, at most.
_LARGEST_RECORDING = 64 << 20


@dataclass(frozen=True)
class VisibleDetails:
    """Sizes and numbers of the program that had to stay, options, operators, and how common their
    chain is in public models.
    """

    sizes: tuple[float, ...]
    numbers: tuple[float, ...]
    options: tuple[str, ...]
    operators: tuple[str, ...]
    chain: ChainUse

    def to_json(self) -> Json:
        """The entry of the document."""
        return {
            "sizes": list(self.sizes),
            "numbers": list(self.numbers),
            "options": list(self.options),
            "operators": list(self.operators),
            "chain": {
                "commonness": self.chain.commonness,
                "functions": self.chain.functions,
                "packages": list(self.chain.packages),
            },
        }

    def render_lines(self) -> list[str]:
        """One screen for people."""
        return [
            "── what a reader could recognize ──",
            f"sizes:     {_render_numbers(self.sizes)}{_STAYS if self.sizes else ''}",
            f"numbers:   {_render_numbers(self.numbers)}{_STAYS if self.numbers else ''}",
            f"options:   {', '.join(self.options) or 'none'}",
            f"operators: {', '.join(self.operators) or 'none'}",
            f"chain:     {self._describe_chain()}",
            "── end of what a reader could recognize ──",
        ]

    def _describe_chain(self) -> str:
        if self.chain.commonness is None:
            return "not looked for, since no package with public models is installed here"
        where = f"of the public models installed here ({', '.join(self.chain.packages)})"
        if not self.chain.functions:
            return f"none: no function {where} has these operators in this order"
        return f"{self.chain.commonness}: {pluralize(self.chain.functions, 'function')} {where}"


_STAYS = " (the failure is not there with a generic one)"


def find_visible_details(folder: Path, report: Report) -> VisibleDetails:
    """Reads a report, and the packages of this machine."""
    operators = report.repro.operators if report.repro else ()
    return VisibleDetails(
        tuple(report.sizes_left or ()),
        tuple(report.numbers_left or ()),
        tuple(_list_options(report)),
        operators,
        find_chain(operators, tuple(dict.fromkeys(_list_sites(folder)))),
    )


def _list_options(report: Report) -> Iterator[str]:
    needs = report.requires
    if needs is None:
        return
    if needs.backward:
        yield "backward"
    if needs.dynamic is not None:
        yield f"dynamic={needs.dynamic}"
    if needs.mode:
        yield f"mode={needs.mode}"
    yield from (f"{name}={value}" for name, value in needs.config.items())
    yield from needs.contexts
    yield f"device {report.device}"


def _list_sites(folder: Path) -> Iterator[Path]:
    """Folders with packages: those of the report's interpreter, of the active environment, ours."""
    python = _find_interpreter(folder)
    prefixes = [python.parent.parent] if python is not None else []
    prefixes += [Path(os.environ[n]) for n in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(n)]
    for prefix in (*prefixes, Path(sys.prefix)):
        yield from sorted(prefix.glob("lib/python3*/site-packages"))
    yield from map(Path, site.getsitepackages())


def _find_interpreter(folder: Path) -> Path | None:
    recording = folder / PRIVATE / RECORDING
    try:
        if recording.stat().st_size > _LARGEST_RECORDING:
            return None
        return Path(CapturedCall.load(recording).surroundings.python)
    except (OSError, UsageError):
        return None


def _render_numbers(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.12g}" for value in values) or "none"
