"""A tracker per test, and a report to file.

What they need is imported when a test asks: most tests of a folder do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.github.submitter import Waits
    from tests.support.github.tracker import Tracker


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    """The tool waits for a tracker by a clock that only its waits move; an answer may take as long
    as the machine needs.
    """
    from reporter.tracker.http_session import RequestTimeouts
    from tests.support.github.submitter import PATIENCE, Waits

    waits = Waits()
    timeouts = RequestTimeouts(PATIENCE, pause=0, clock=waits.clock, sleep=waits.sleep)
    monkeypatch.setattr(RequestTimeouts, "from_environment", classmethod(lambda _: timeouts))
    return waits


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, waits: Waits) -> Iterator[Tracker]:
    """A GitHub on this machine, which the tool is told to use; a request or an answer that is not
    GitHub's fails the test.
    """
    from reporter.core import tokens
    from tests.support.github.tracker import TOKEN, Tracker

    for name in [*tokens.read_tokens(), "GH_HOST"]:
        monkeypatch.delenv(name, raising=False)
    server = Tracker()
    server.shortens_patience(monkeypatch)
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    monkeypatch.setenv("BUGREPORT_GITHUB_API", server.base)
    monkeypatch.setenv("BUGREPORT_STORE", str(tmp_path / "store.sqlite3"))
    with server.running():
        yield server
    assert not server.violations


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report folder as `create` wrote it, of a real failure of torch 2.13.0, without its private
    folder.
    """
    from tests.support.github.submitter import copied

    return copied("foobar", tmp_path / "report")
