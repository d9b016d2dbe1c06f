"""What is fuzzed: a reader each, what it is given, and the errors that it may raise.

Texts are drawn whole, or as one of the seeds with a few places changed. A target returns nothing;
an exception that is not permitted is a defect.
"""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import strategies as st

from collectors.record import notebook
from reporter.check import shards
from reporter.check.subject import read_subject
from reporter.core import setting_sources
from reporter.core.errors import BugreportError
from reporter.environments.index import list_wheel_pythons
from reporter.recording.session import RecordingSession
from reporter.recording.watching import WatchedProgram, WatchOptions
from reporter.report.reading import read_report
from reporter.tracker.duplicates import find_duplicates
from reporter.tracker.repository import IssueAddress, Repository
from reporter.tracker.submission import read_submission
from reporter.triage.reading.blocks import parse_blocks, read_prose
from reporter.triage.reading.repro_selection import extract
from reporter.triage.reading.stated_failure import find_exceptions, read_stated
from reporter.triage.reading.thread import Thread, fetch, read_text
from reporter.triage.sandboxed_verdict import read as read_verdict
from tests.fuzz import answering
from tests.support.places import DATA

SEEDS = DATA / "fuzz"
PYTORCH = Repository("github.com", "pytorch", "pytorch")
_WORDS = (
    "```python\n",
    "```\n",
    "import torch\n",
    "torch.compile(f)(x)\n",
    "Traceback (most recent call last):\n",
    '  File "a.py", line 1, in <module>\n',
    "AssertionError: x\n",
    "<details><summary>s</summary>\n",
    "<pre>",
    "> ",
    "title:\tx\n--\n",
    "PyTorch version: 2.6.0\n",
    "\x00\x1b[31m",
    "\u202e",
    "{",
    "}",
    "[" * 2000,
    '{"title": "x", "comments": [{"author": 1, "body": []}]}',
)
json_values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner),
    max_leaves=12,
)
texts = st.lists(st.sampled_from(_WORDS) | st.text(max_size=40), max_size=12).map("".join)


def changed(document: object) -> st.SearchStrategy[object]:
    """A document with some of its values, at any depth, replaced by others."""
    if isinstance(document, dict):
        kept = {key: st.just(value) | changed(value) for key, value in document.items()}
        return st.fixed_dictionaries(kept) | json_values
    if isinstance(document, list) and document:
        return st.lists(st.sampled_from(document).flatmap(changed), max_size=3) | json_values
    return st.just(document) | json_values


def seed(name: str) -> object:
    """One of the documents that are changed."""
    return json.loads((SEEDS / name).read_text(encoding="utf-8"))


def issue(data: bytes) -> None:
    """An issue's text, to what is stated and what would run."""
    thread: Thread = read_text(data, "issue.md")
    extract(thread)
    read_stated(thread)
    for post in thread.posts:
        parse_blocks(post.text)
        read_prose(post.text)
        find_exceptions(post.text)


def recorder_messages(lines: list[bytes]) -> None:
    """Whatever comes over the recorder's socket."""
    with tempfile.TemporaryDirectory() as name:
        program = WatchedProgram(Path("python"), (), Path(name), Path(name))
        made = RecordingSession(program, WatchOptions(1.0, guarded=False))
        ours, theirs = socket.socketpair()
        theirs.sendall(b"\n".join(lines) + b"\n")
        theirs.close()
        made.serve(ours)
        made.recording.close()


def report(document: object) -> None:
    """A report.json."""
    read_report(document, "report.json")


def report_file(data: bytes) -> None:
    """A report folder, as `check` finds it."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "report.json").write_bytes(data)
        (Path(name) / "repro.py").write_text("import torch\n")
        read_subject(name)


def check_file(data: bytes) -> None:
    """A check.json, as shards are put together."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "check.json"
        path.write_bytes(data)
        shards.merge([path])


def notebook_file(data: bytes) -> None:
    """A notebook."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "a.ipynb"
        path.write_bytes(data)
        notebook.survey(str(path))


def settings_file(data: bytes) -> None:
    """A file of settings."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patched:
        path = Path(name) / "config.toml"
        path.write_bytes(data)
        patched.setattr(setting_sources, "find_user_file", lambda: path)
        setting_sources.resolve({}, None, (), Path(name))


def sandbox_answer(document: object) -> None:
    """The answer of a run in the sandbox."""
    _ = read_verdict(document).summary


def tracker_answers(document: object) -> None:
    """What the tracker says of a project, an issue, its comments, and in a search."""
    answers = document if isinstance(document, dict) else {}
    with answering.session(answers) as session:
        draft = read_submission(DATA / "reports" / "foobar")
        find_duplicates(session, PYTORCH, draft.failure)
        fetch(session, IssueAddress(PYTORCH, 1))


def wheel_name(name: str) -> None:
    """The name of a file on an index."""
    list_wheel_pythons(name)


def _dumped(document: object) -> bytes:
    return json.dumps(document).encode("utf-8", "surrogatepass")


def documents(name: str) -> st.SearchStrategy[object]:
    """A seed with changes."""
    return st.just(seed(name)).flatmap(changed)


def files(name: str) -> st.SearchStrategy[bytes]:
    """A seed with changes as a file, cut files, and files of other bytes."""
    whole = documents(name).map(_dumped)
    cut = st.tuples(whole, st.integers(0, 200)).map(lambda pair: pair[0][: pair[1]])
    return whole | cut | st.binary(max_size=200) | st.just(b"[" * 100_000)


Target = tuple[Callable[..., None], st.SearchStrategy[object], tuple[type[BaseException], ...]]


def targets() -> Mapping[str, Target]:
    """All of them by name."""
    events = seed("events.json")
    assert isinstance(events, list)
    event = st.sampled_from(events).flatmap(changed)
    messages = st.lists(event.map(_dumped) | st.binary(max_size=60), min_size=1, max_size=6)
    toml = st.lists(
        st.sampled_from(
            ("jobs = 2\n", "timeout = []\n", "[a]\n", "python = {}\n", 'repo = "x"\n', "a." * 3000)
        )
        | st.text(max_size=20),
        max_size=5,
    ).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass"))
    names = st.text(max_size=40) | st.from_regex(
        r"torch-[0-9.]+(\+cpu)?-[a-z0-9]+-[a-z0-9]+-\w+\.whl"
    )
    return {
        "issue": (issue, texts.map(lambda t: t.encode("utf-8", "replace")), (BugreportError,)),
        "recorder messages": (recorder_messages, messages, ()),
        "report.json": (report, documents("report.json"), (BugreportError,)),
        "report folder": (report_file, files("report.json"), (BugreportError,)),
        "check.json": (check_file, files("check.json"), (BugreportError,)),
        "notebook": (notebook_file, files("notebook.json"), ()),
        "settings": (settings_file, toml, (BugreportError,)),
        "sandbox answer": (sandbox_answer, documents("answer.json"), ()),
        "tracker": (tracker_answers, documents("tracker.json"), (BugreportError,)),
        "index": (wheel_name, names, (BugreportError,)),
    }
