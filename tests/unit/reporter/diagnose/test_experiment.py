"""What one run shows about a bug: that it is there, that it is gone, or nothing."""

from __future__ import annotations

import pytest

from reporter.core.signature import Signature
from reporter.diagnose.experiment import judge_run
from reporter.recording.call_session import Json

SAME: Json = {"same": True, "metadata": [], "values": []}
WRONG: Json = {"same": False, "metadata": [], "values": [{"property": "value", "same": False}]}
STRIDE: Json = {"same": False, "metadata": [{"property": "stride"}], "values": []}
RAISED: Json = {"exception": "ValueError", "first_line": "bad", "message": "bad", "frames": []}
RUNS: list[tuple[str, Signature, Json, Json | None, bool | None]] = [
    ("gone", Signature("wrong_result"), {"outcome": "ok"}, SAME, False),
    ("there", Signature("wrong_result"), {"outcome": "ok"}, WRONG, True),
    ("other difference", Signature("wrong_result"), {"outcome": "ok"}, STRIDE, None),
    ("metadata", Signature("wrong_metadata", property="stride"), {"outcome": "ok"}, STRIDE, True),
    (
        "other metadata",
        Signature("wrong_metadata", property="dtype"),
        {"outcome": "ok"},
        STRIDE,
        None,
    ),
    ("wrong instead of metadata", Signature("wrong_metadata"), {"outcome": "ok"}, WRONG, None),
    ("not the gradient", Signature("wrong_gradient"), {"outcome": "ok"}, WRONG, None),
    (
        "raises instead",
        Signature("wrong_result"),
        {"outcome": "raises", "failure": RAISED},
        None,
        None,
    ),
    (
        "crash",
        Signature("crash", exception="ValueError", message="bad"),
        {"outcome": "raises", "failure": RAISED},
        None,
        True,
    ),
    (
        "other crash",
        Signature("crash", exception="KeyError", message="bad"),
        {"outcome": "raises", "failure": RAISED},
        None,
        None,
    ),
    ("runs but wrong", Signature("crash"), {"outcome": "ok"}, WRONG, None),
    ("runs", Signature("crash"), {"outcome": "ok"}, SAME, False),
    (
        "accepts",
        Signature("accepts_invalid", exception="ValueError"),
        {"outcome": "ok"},
        None,
        True,
    ),
    (
        "refuses",
        Signature("accepts_invalid", exception="ValueError"),
        {"outcome": "raises", "failure": RAISED},
        None,
        False,
    ),
    (
        "dies",
        Signature("process_death", signal="SIGSEGV"),
        {"outcome": "died", "signal": "SIGSEGV"},
        None,
        True,
    ),
    (
        "dies otherwise",
        Signature("process_death", signal="SIGSEGV"),
        {"outcome": "died", "signal": "SIGABRT"},
        None,
        None,
    ),
    ("too slow", Signature("wrong_result"), {"outcome": "timeout"}, None, None),
    ("hangs", Signature("hang"), {"outcome": "timeout"}, None, True),
    ("no such setting", Signature("crash"), {"outcome": "skipped"}, None, None),
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
