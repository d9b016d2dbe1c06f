"""What a worker says of a candidate that it could not start."""

from __future__ import annotations

import threading
from argparse import Namespace
from pathlib import Path

import pytest

from collectors.protocol.candidates import ANSWER_FILE
from collectors.worker.job import Job, read_answer
from collectors.worker.slot import Slot
from collectors.worker.worker import Worker


@pytest.mark.parametrize("error", [OSError("no memory"), RuntimeError("no memory")])
def test_what_was_never_started_has_not_passed(error: Exception, tmp_path: Path) -> None:
    worker, slot, ready = Worker(Namespace()), Slot(str(tmp_path)), threading.Event()
    slot.clear()
    before = tmp_path / "out" / ANSWER_FILE  # of the candidate before it
    before.write_text('{"outcome": "passes", "failure": null, "exit": 0}')

    def start(job: Job) -> None:
        raise error

    worker._watch(Job({"id": 7, "text": "pass", "timeout": 1.0}, slot), start, ready)
    answer = read_answer(worker.done.get_nowait())
    assert (answer["id"], answer["outcome"], answer["exit"]) == (7, "cannot_judge", 125)
    assert answer["detail"] == "no memory" and ready.is_set()
