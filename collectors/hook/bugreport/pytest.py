"""`pytest -p bugreport.pytest`: every compiled call of a test is compared with eager, and a test
with a finding gets a report.

Tests pass and fail as they do without it; what was found stands in the summary. A test without a
compiled call costs nothing, one without a finding costs the start of the tool and the eager runs.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, Iterator, List, Optional

import pytest

from .loading import load_attach, must_stand_aside

_attach = load_attach()
_LINES = pytest.StashKey[List[str]]()


def pytest_addoption(parser: Any) -> None:
    """The options of the plugin."""
    group = parser.getgroup("bugreport", "reports on torch.compile")
    group.addoption(
        "--bugreport-dir",
        metavar="DIR",
        default="bugreport-tests",
        help="folder for the reports, one for each test [default: bugreport-tests]",
    )
    group.addoption(
        "--bugreport-limit",
        metavar="N",
        type=int,
        default=3,
        help="tests that get a report, a minute or two each [default: 3]",
    )
    group.addoption(
        "--bugreport-verb",
        choices=("create", "diagnose"),
        default="create",
        help="write a report, or give the verdict alone [default: create]",
    )


def pytest_configure(config: Any) -> None:
    """Refuses to start where the tool cannot be found."""
    config.stash[_LINES] = []
    try:
        _attach.find_tool()
    except _attach.ToolMissingError as error:
        raise pytest.UsageError("bugreport: {}".format(error)) from None


class _Lazy:
    """Starts the tool when a test makes its first compiled call."""

    def __init__(self, verb: str, folder: str) -> None:
        self.verb = verb
        self.options = ["-o", folder, "--force"] if verb == "create" else []
        self.run: Optional[Any] = None
        self.problem = ""

    def call(self, watched: Any, compiled: Any, args: Any, kwargs: Any) -> Any:
        """The first compiled call; all others go to the recorder that takes over."""
        try:
            self.run = _attach.WatchedRegion(_attach.Host(self.verb, self.options), "test")
            self.run.start()
        except Exception as error:  # the test must not fail by being watched
            _attach.ensure_switch().active = None
            self.problem = str(error)
            return compiled(*args, **kwargs)
        return self.run.recorder.call(watched, compiled, args, kwargs)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    """Around a test with its fixtures."""
    config = item.config
    lines = config.stash[_LINES]
    if len(lines) >= config.getoption("--bugreport-limit") or must_stand_aside():
        yield
        return
    name = re.sub(r"[^\w.-]+", "-", item.nodeid).strip("-")[-120:]
    folder = os.path.join(os.path.abspath(config.getoption("--bugreport-dir")), name)
    lazy = _Lazy(config.getoption("--bugreport-verb"), folder)
    _attach.ensure_switch().active = lazy
    try:
        yield
    finally:
        _attach.ensure_switch().active = None
        line = _end_watch(item, lazy, folder)
        if line:
            lines.append(line)


def _end_watch(item: Any, lazy: _Lazy, folder: str) -> str:
    """Ends the watching of a test; what the summary has to say of it, if anything."""
    if lazy.run is None:
        return "{}: not watched, {}".format(item.nodeid, lazy.problem) if lazy.problem else ""
    run = lazy.run
    try:
        run.end()
        said: List[str] = []
        code = run.host.wait(said.append)
        verdict: Dict[str, Any] = run.host.read_result().get("verdict") or {}
        if code == 0:
            where = ", report: {}".format(folder) if lazy.verb == "create" else ""
            return "{}: {} in {}{}".format(item.nodeid, verdict["kind"], verdict["layer"], where)
        if code == 1:
            return ""
        last = "".join(said).strip().splitlines() or ["exit code {}".format(code)]
        return "{}: no report, {}".format(item.nodeid, last[-1].replace("bugreport: ", "", 1))
    finally:
        run.host.remove()


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """What was found, test by test."""
    lines = config.stash[_LINES]
    if lines:
        terminalreporter.section("bugreport")
        for line in lines:
            terminalreporter.write_line(line)
        if len(lines) >= config.getoption("--bugreport-limit"):
            terminalreporter.write_line("later tests were not watched (--bugreport-limit)")
