"""The documents that are written as JSON, against their types and their published schemas."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from msgspec.structs import replace

from reporter.core.errors import UsageError
from reporter.core.kinds import Kind, Layer, RungOutcome
from reporter.report import reading
from reporter.report.sections.measurements import RungRow
from reporter.report.sections.stages import StageRow
from tests.support import outgoing_data as data
from tests.support import schemas
from tests.support.places import ROOT

GOLDEN = sorted((ROOT / "tests" / "data" / "golden").glob("*/report.json"))


@pytest.mark.parametrize("name", schemas.DOCUMENTS)
def test_the_schema_in_the_package_is_that_of_the_types(name: str) -> None:
    assert schemas.shipped_schema(name) == schemas.schema(name)


@pytest.mark.parametrize("name", schemas.DOCUMENTS)
def test_no_section_has_a_field_that_may_hold_anything(name: str) -> None:
    """A schema without a type, or an object without keys, would allow any JSON."""
    document = msgspec.json.schema(schemas.DOCUMENTS[name])
    assert list(find_open_schemas(document["$defs"])) == []
    assert list(find_open_schemas({"config": {"type": "object"}, "old": {}})) == ["config", "old"]


def find_open_schemas(schemas_by_name: dict[str, Any]) -> Iterator[str]:
    for name, schema in schemas_by_name.items():
        for each in (schema, *schema.get("anyOf", ())):
            says = {"type", "$ref", "anyOf", "enum", "const"} & set(each)
            if not says or each.get("type") == "object" and not OBJECT & set(each):
                yield name
            yield from find_open_schemas(each.get("properties", {}))
            for kind in ("additionalProperties", "items"):
                if isinstance(each.get(kind), dict):
                    yield from find_open_schemas({f"{name}, {kind}": each[kind]})


#: What says which keys an object has.
OBJECT = {"properties", "additionalProperties"}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parent.name)
def test_a_report_is_what_its_schema_says(path: Path) -> None:
    written = json.loads(path.read_text(encoding="utf-8"))
    schemas.validate(written, "report")


def test_the_published_schema_refuses_what_the_types_refuse() -> None:
    written = json.loads(GOLDEN[0].read_text(encoding="utf-8"))
    written["verdict"]["is_bug"] = "maybe"
    with pytest.raises(jsonschema.ValidationError):
        schemas.build_validator("report").validate(written)


def test_a_key_that_no_reader_knows_of_is_refused_where_it_is_written() -> None:
    written = json.loads(GOLDEN[0].read_text(encoding="utf-8"))
    written["verdict"]["mood"] = "good"
    with pytest.raises(ValueError, match=r"report\.verdict has keys .*mood"):
        schemas.validate(written, "report")


def test_a_key_of_a_later_release_is_passed_over_where_it_is_read() -> None:
    written = json.loads(GOLDEN[0].read_text(encoding="utf-8"))
    read = reading.read_report({**written, "colors": [1]}, "here")
    assert read == reading.read_report(written, "here")
    assert read.verdict.is_bug == written["verdict"]["is_bug"]


def test_a_report_of_the_first_version_needs_no_more_than_a_verdict() -> None:
    verdict = {"kind": "crash", "layer": "inductor", "is_bug": True, "summary": "It fails."}
    read = reading.read_report({"schema_version": 1, "verdict": verdict}, "here")
    assert (read.verdict.kind, read.verdict.layer) == (Kind.CRASH, Layer.INDUCTOR)
    assert read.repro is None and read.ladder == ()


def test_the_first_version_had_wall_seconds_alone_and_other_names_for_some_keys() -> None:
    verdict = {"kind": "crash", "layer": "inductor", "is_bug": True, "summary": "It fails."}
    old = {
        "schema_version": 1,
        "verdict": verdict,
        "timing": {"script": 1.5},
        "exhibit": {"graphs": 2},
        "differs_from_stock": {"ingredients": ["a bias"], "skeleton": "passes", "tried": 3},
    }
    read = reading.read_report(old, "here")
    assert read.timing == {"script": StageRow(wall=1.5)}
    assert read.pictures is not None and read.pictures.graphs == 2
    assert read.differs_from_stock is not None and read.differs_from_stock.needs == ("a bias",)
    assert read.to_json()["schema_version"] == 2


def test_facts_of_the_machine_that_an_earlier_release_wrote_are_read_as_this_one_has_them() -> None:
    facts = {
        "torch": "2.6.0",
        "triton": "3.2.0",
        "packages": {"numpy": "2.0.0", "someones-own": "1.0"},
        "configs": {"torch._dynamo.config.suppress_errors": True, "torch._x.config.y": [1]},
        "hostname": "a-host",
    }
    issue = {"environment": facts, "version": "0.1.0"}
    verdict = {"kind": "crash", "layer": "inductor", "is_bug": True, "summary": "It fails."}
    for version in (1, 2):
        document = {"schema_version": version, "verdict": verdict, "issue": issue}
        read = reading.read_report(document, "here").issue
        assert read is not None and read.environment.to_json() == {
            "torch": "2.6.0",
            "packages": {"numpy": "2.0.0"},
            "triton": {},
            "configs": {"torch._dynamo.config.suppress_errors": True},
        }


@pytest.mark.parametrize("odd", [{}, [], {"schema_version": 3, "verdict": {}}, "text"])
def test_what_is_no_report_is_refused_with_its_place(odd: object) -> None:
    with pytest.raises(UsageError, match="/somewhere was not written by this version"):
        reading.read_report(odd, "/somewhere")


def test_report_json_has_the_agreed_shape() -> None:
    document = json.loads(data.crash_report().dumps())
    assert list(document) == [
        "schema_version",
        "verdict",
        "ladder",
        "torch",
        "python",
        "device",
        "requires",
        "repro",
        "labels",
        "other_findings",
        "audit",
    ]
    assert list(document["verdict"]) == [
        "kind",
        "layer",
        "is_bug",
        "summary",
        "signature",
        "exception",
        "message",
        "reproduced",
        "explanation",
        "command",
    ]
    assert document["verdict"]["reproduced"] == [3, 3]
    assert {"backward", "dynamic", "mode", "config"} <= set(document["requires"])
    assert document["audit"] == {"passed": True, "terms_checked": 120, "findings": []}


def test_report_json_without_repro_and_with_numbers_json_lacks() -> None:
    report = replace(
        data.crash_report(),
        repro=None,
        audit=None,
        ladder=(RungRow("inductor", RungOutcome.DIFFERS, "", math.inf),),
    )
    document = json.loads(report.dumps())
    assert "repro" not in document and "audit" not in document
    assert document["ladder"][0]["max_abs_error"] == "inf"
