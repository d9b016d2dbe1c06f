"""The JSON Schemas of the package, and whether documents hold to them;
`python -m tests.support.schemas` writes them anew.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Mapping

import jsonschema
import msgspec
from jsonschema.protocols import Validator

from reporter.report.sections.base import Section
from reporter.report.sections.check_document import CheckDocument
from reporter.report.sections.report_document import Report
from tests.support.places import ROOT

#: Each kind of document by the name of its schema.
DOCUMENTS: Mapping[str, type[Section]] = {"report": Report, "check": CheckDocument}
FOLDER = ROOT / "reporter" / "report" / "schema"


def schema(name: str) -> str:
    """The JSON Schema of a kind of document, as text."""
    document = msgspec.json.schema(DOCUMENTS[name])
    for section in document["$defs"].values():
        # Python removes the indentation of docstrings from 3.13 on
        section["description"] = inspect.cleandoc(section["description"])
    return json.dumps(document, indent=2) + "\n"


def shipped_schema(name: str) -> str:
    """The same as it is shipped with the package."""
    return (FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")


def validate(document: object, name: str) -> None:
    """Holds a document against its types and its published schema; `name` is one of `DOCUMENTS`.

    Raises:
        ValueError: it has other values, or keys that no reader knows of.
        jsonschema.ValidationError: it is not what the schema says.
    """
    kind = DOCUMENTS[name]
    known = msgspec.convert(document, kind, strict=False)
    _same_keys(document, msgspec.to_builtins(known), name)
    build_validator(name).validate(document)


@functools.cache
def build_validator(name: str) -> Validator:
    """What holds documents against the schema that is shipped with the package."""
    published = json.loads(shipped_schema(name))
    return jsonschema.validators.validator_for(published)(published)


def _same_keys(written: object, known: object, location: str) -> None:
    if isinstance(written, Mapping) and isinstance(known, Mapping):
        odd = set(written) - set(known)
        if odd:
            raise ValueError(f"{location} has keys that are not documented: {sorted(odd)}")
        for key, value in written.items():
            _same_keys(value, known[key], f"{location}.{key}")
    elif isinstance(written, (list, tuple)) and isinstance(known, (list, tuple)):
        for number, (one, other) in enumerate(zip(written, known)):
            _same_keys(one, other, f"{location}[{number}]")


def main() -> None:
    for name in DOCUMENTS:
        (FOLDER / f"{name}.schema.json").write_text(schema(name), encoding="utf-8")


if __name__ == "__main__":
    main()
