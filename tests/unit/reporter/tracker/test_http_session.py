"""How long a tracker may take, and which requests are made again."""

from __future__ import annotations

import pytest

from reporter.core.errors import UsageError
from reporter.tracker.http_session import ReadRetry, RequestTimeouts


def test_the_variable_is_how_long_an_answer_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    timeouts = RequestTimeouts.from_environment()
    assert (timeouts.timeout, timeouts.settle) == (30, 60)
    monkeypatch.setenv("BUGREPORT_GITHUB_TIMEOUT", "2.5")
    timeouts = RequestTimeouts.from_environment()
    assert (timeouts.timeout, timeouts.settle) == (2.5, 5)


@pytest.mark.parametrize("given", ["soon", "0", "-1", "nan", "1e9"])
def test_a_time_that_nobody_can_wait_is_refused(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUGREPORT_GITHUB_TIMEOUT", given)
    with pytest.raises(UsageError, match="BUGREPORT_GITHUB_TIMEOUT is '.*', but must be a number"):
        RequestTimeouts.from_environment()


def test_the_pauses_between_attempts_grow_and_are_made_with_the_given_wait() -> None:
    waited: list[float] = []
    retry = ReadRetry(total=3, backoff_factor=1, wait=waited.append)
    for _ in range(3):
        retry = retry.increment("GET", "/", error=TimeoutError())
        retry.sleep()
    assert waited == [2.0, 4.0]
