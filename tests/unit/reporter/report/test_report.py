"""`report.json` has the shape that its readers were promised."""

from __future__ import annotations

import json
import math

from msgspec.structs import replace

from reporter.core.kinds import RungOutcome
from reporter.report.sections import RungRow
from tests.support import outgoing_data as data


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
