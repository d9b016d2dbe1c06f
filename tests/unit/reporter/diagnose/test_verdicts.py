"""Every program of the table judged again from what torch answered when it was recorded.

The table says what the verdict has to be; the file says what else the diagnosis was (its summary,
the cited rungs, the ladder), so that a change of any of it is a change of a file that somebody
looks at.
"""

from __future__ import annotations

import getpass
import json
import re
import socket
from typing import Any

import pytest

from collectors.protocol.calls import LostAnswer
from reporter.diagnose.diagnosis import BUGS
from reporter.diagnose.rungs import EAGER
from tests.support import recorded_answers
from tests.support.recorded_answers import HOME, NotRecordedError, load, outcome
from tests.support.verdict_table import CASES, judged

LAYERS = {"dynamo", "aot_autograd", "decomposition", "inductor", "backend", "eager", "none"}


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_on_a_recorded_program_is_that_of_the_table(name: str) -> None:
    recorded = load(name)
    found = outcome(recorded.recording(), judged)
    assert CASES[name].mistake_in(found) == ""
    assert found == recorded.diagnosis


def test_there_is_a_recording_for_each_program_and_no_other() -> None:
    assert sorted(path.stem for path in HOME.iterdir()) == sorted(CASES)


def test_every_kind_of_bug_and_every_layer_is_recorded() -> None:
    assert {case.kind for case in CASES.values()} >= BUGS
    assert {case.layer for case in CASES.values()} == LAYERS
    assert len(CASES) >= 80


def test_no_recording_names_this_machine_or_a_folder_of_it() -> None:
    for path in HOME.iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"(?<![\w.])/(?:tmp|home|root|work|var|usr|Users|opt|mnt)/", text
        ), path
        for name in (socket.gethostname(), getpass.getuser()):
            if len(name) > 4:
                assert name not in text, path


def test_a_question_that_was_not_recorded_says_how_to_record_it() -> None:
    recorded = load("swallowed_assertion")
    recorded.notes = [note for note in recorded.notes if "custom" not in json.dumps(note)]
    with pytest.raises(NotRecordedError, match="make test-matrix"):
        judged(recorded.recording())


# -- answers changed -------------------------------------------------------------------------------


def changed(name: str, rung: str, **answer: Any) -> recorded_answers.Json:
    """The diagnosis where one rung of a recorded program had given another answer."""

    def edit(ask: Any, given: Any) -> Any:
        about = ask["op"] == "run" and recorded_answers.rung_of(ask) == rung
        return {**answer} if about else given

    return outcome(load(name).recording(edit), judged)


def without(name: str, rung: str, **parts: Any) -> recorded_answers.Json:
    """The diagnosis where one comparison of a recorded program had been another."""

    def edit(ask: Any, given: Any) -> Any:
        about = ask["op"] == "compare" and recorded_answers.rung_of(ask) == rung
        if not about:
            return given
        comparison = given["comparison"]
        values = [{**value, **parts} for value in comparison["values"]]
        return {**given, "comparison": {**comparison, "values": values}}

    return outcome(load(name).recording(edit), judged)


def test_eager_that_dies_in_the_repetition_is_an_invalid_program() -> None:
    found = changed("swallowed_assertion", EAGER, outcome="died", signal="SIGSEGV", detail="")
    assert (found["kind"], found["layer"]) == ("invalid_program", "eager")


def test_a_lower_backend_that_raises_too_moves_the_layer() -> None:
    failure = load("swallowed_assertion").findings[0]["failure"]
    found = changed("swallowed_assertion", "eager", outcome="raises", failure=failure)
    assert (found["kind"], found["layer"]) == ("crash", "dynamo")


def test_a_repetition_that_is_lost_is_counted_as_one_that_did_not_fail() -> None:
    lost = changed("swallowed_assertion", "custom", outcome="died", lost=LostAnswer.SERVER)
    assert (lost["kind"], lost["reproduced"]) == ("crash", [2, 3])


def test_a_last_bit_excuses_down_to_half_the_error_and_below_it_the_other_way_is_asked() -> None:
    name, rung = "floor_beside_a_threshold", "eager mode one ulp off"
    found = without(name, rung, max_abs_error=0.5, rms_error=0.5)
    assert found["kind"] == "ill_conditioned" and rung in found["cited"]
    with pytest.raises(NotRecordedError, match="one ulp the other way"):
        without(name, rung, max_abs_error=0.499, rms_error=0.5)
