"""Reads a report.json of this release or of an earlier one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from reporter.core.errors import UsageError
from reporter.report.environment import build_public_environment
from reporter.report.folder import REPORT, load_document
from reporter.report.sections.report_document import SCHEMA_VERSION, Report

#: Keys of version 1, and what they are called now.
_RENAMED = {"exhibit": "pictures", "complaints": "graph_breaks"}


def read_report(document: object, location: str) -> Report:
    """The sections of a report.json that was read from `location`.

    Raises:
        UsageError: it is no report, or not of this schema.
    """
    try:
        return msgspec.convert(_rebuild_environment(_upgrade(document)), Report, strict=False)
    except (msgspec.ValidationError, AttributeError, TypeError, ValueError) as error:
        raise UsageError(
            f"{location} was not written by this version of bugreport ({error}); update it, or"
            " write the report anew"
        ) from None


def load_report(folder: Path) -> Report | None:
    """The report of a folder; None where there is none.

    Raises:
        UsageError: it cannot be read, or is of another schema.
    """
    document = load_document(folder)
    if document is not None:
        return read_report(document, str(folder))
    if (folder / REPORT).exists():
        raise UsageError(
            f"{folder / REPORT} is not a report that can be read; take it away, or write it anew"
        )
    return None


def _upgrade(document: object) -> object:
    """A document of version 1 as version 2 has it; anything else as it is."""
    if not isinstance(document, Mapping) or document.get("schema_version") != 1:
        return document
    new = {_RENAMED.get(key, key): value for key, value in document.items()}
    if new.get("timing"):
        new["timing"] = {name: {"wall": wall} for name, wall in new["timing"].items()}
    if new.get("differs_from_stock"):
        stock = {**new["differs_from_stock"]}
        new["differs_from_stock"] = {"needs": stock.pop("ingredients", ()), **stock}
    return {**new, "schema_version": SCHEMA_VERSION}


def _rebuild_environment(document: object) -> object:
    """The document with the facts of the machine as this release has them: an earlier one wrote
    more of them, and some in another form.
    """
    issue = document.get("issue") if isinstance(document, Mapping) else None
    facts = issue.get("environment") if isinstance(issue, Mapping) else None
    if not isinstance(facts, Mapping):
        return document
    assert isinstance(document, Mapping) and isinstance(issue, Mapping)
    issue = {**issue, "environment": build_public_environment(facts)}
    return {**document, "issue": issue}
