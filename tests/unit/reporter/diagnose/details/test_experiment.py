"""What one run shows about a bug: that it is there, that it is gone, or nothing."""

from __future__ import annotations

import pytest

from reporter.core.json_values import Json
from reporter.core.kinds import Kind
from reporter.core.signature import Signature
from reporter.diagnose.details.experiment import judge_run

SAME: Json = {"same": True, "metadata": [], "values": []}
WRONG: Json = {"same": False, "metadata": [], "values": [{"property": "value", "same": False}]}
STRIDE: Json = {
    "same": False,
    "metadata": [{"where": "output 0", "property": "stride"}],
    "values": [],
}
RAISED: Json = {"exception": "ValueError", "first_line": "bad", "message": "bad", "frames": []}
RUNS: list[tuple[str, Signature, Json, Json | None, bool | None]] = [
    ("gone", Signature(Kind.WRONG_RESULT), {"outcome": "ok"}, SAME, False),
    ("there", Signature(Kind.WRONG_RESULT), {"outcome": "ok"}, WRONG, True),
    ("other difference", Signature(Kind.WRONG_RESULT), {"outcome": "ok"}, STRIDE, None),
    (
        "metadata",
        Signature(Kind.WRONG_METADATA, property="stride"),
        {"outcome": "ok"},
        STRIDE,
        True,
    ),
    (
        "other metadata",
        Signature(Kind.WRONG_METADATA, property="dtype"),
        {"outcome": "ok"},
        STRIDE,
        None,
    ),
    ("wrong instead of metadata", Signature(Kind.WRONG_METADATA), {"outcome": "ok"}, WRONG, None),
    ("not the gradient", Signature(Kind.WRONG_GRADIENT), {"outcome": "ok"}, WRONG, None),
    (
        "raises instead",
        Signature(Kind.WRONG_RESULT),
        {"outcome": "raises", "failure": RAISED},
        None,
        None,
    ),
    (
        "crash",
        Signature(Kind.CRASH, exception="ValueError", message="bad"),
        {"outcome": "raises", "failure": RAISED},
        None,
        True,
    ),
    (
        "other crash",
        Signature(Kind.CRASH, exception="KeyError", message="bad"),
        {"outcome": "raises", "failure": RAISED},
        None,
        None,
    ),
    ("runs but wrong", Signature(Kind.CRASH), {"outcome": "ok"}, WRONG, None),
    ("runs", Signature(Kind.CRASH), {"outcome": "ok"}, SAME, False),
    (
        "accepts",
        Signature(Kind.ACCEPTS_INVALID, exception="ValueError"),
        {"outcome": "ok"},
        None,
        True,
    ),
    (
        "refuses",
        Signature(Kind.ACCEPTS_INVALID, exception="ValueError"),
        {"outcome": "raises", "failure": RAISED},
        None,
        False,
    ),
    (
        "dies",
        Signature(Kind.PROCESS_DEATH, signal="SIGSEGV"),
        {"outcome": "died", "signal": "SIGSEGV"},
        None,
        True,
    ),
    (
        "dies otherwise",
        Signature(Kind.PROCESS_DEATH, signal="SIGSEGV"),
        {"outcome": "died", "signal": "SIGABRT"},
        None,
        None,
    ),
    ("too slow", Signature(Kind.WRONG_RESULT), {"outcome": "timeout"}, None, None),
    ("hangs", Signature(Kind.HANG), {"outcome": "timeout"}, None, True),
    ("no such setting", Signature(Kind.CRASH), {"outcome": "skipped"}, None, None),
]


@pytest.mark.parametrize(
    ("wanted", "run", "comparison", "bug"), [row[1:] for row in RUNS], ids=[row[0] for row in RUNS]
)
def test_another_failure_is_no_answer(
    wanted: Signature, run: Json, comparison: Json | None, bug: bool | None
) -> None:
    assert (
        judge_run(wanted, run, comparison, RAISED if wanted.kind == "accepts_invalid" else None)[0]
        is bug
    )
