"""Writes the JSON Schemas of the package anew: `python -m tests.support.schemas`."""

from __future__ import annotations

from reporter.report import sections
from tests.support.places import ROOT


def main() -> None:
    folder = ROOT / "reporter" / "report" / "schema"
    for name in sections.DOCUMENTS:
        path = folder / f"{name}.schema.json"
        path.write_text(sections.schema(name), encoding="utf-8")


if __name__ == "__main__":
    main()
