"""Sends requests to GitHub: one that reads is repeated where it fails, one that writes goes out
once, and every failure says which of the two it was.

PyGithub's own retry repeats POST after a server error, and an issue is then filed twice. Here a
failure of a write is either a refusal (nothing has happened) or a `TrackerError` with
`may_have_happened`, and who asked decides what to do about it.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import github
import requests
import urllib3
from urllib3.util.retry import Retry

from reporter.core.errors import UsageError
from reporter.core.version import VERSION
from reporter.tracker.error_messages import describe_no_answer, describe_refusal
from reporter.tracker.repository import Repository, Token, build_api_url, find_token, need_token

_TIMEOUT_VARIABLE = "BUGREPORT_GITHUB_TIMEOUT"
_TIMEOUT = 30.0
#: Longer than this nobody wants to look at a terminal; the sentence then says when to come again.
LONGEST_WAIT = 60.0
#: What PyGithub raises when an answer has another shape than it trusts it to have.
_MISREAD = (ValueError, LookupError, TypeError, AttributeError, AssertionError, RuntimeError)
_READS = frozenset({"GET", "HEAD"})
_BUSY = frozenset({429, 500, 502, 503, 504})


@dataclass(frozen=True)
class RequestTimeouts:
    """Seconds: how long an answer may take, and what follows from it.

    `settle` is when a request without an answer can no longer be under way: GitHub itself gives up
    after ten seconds, so twice our own patience is ample. `pause` lies between two requests that
    change something. `clock` and `sleep` are what the run waits with; a test gives a clock that
    only its waits move.
    """

    timeout: float = _TIMEOUT
    pause: float = 1.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    @property
    def settle(self) -> float:
        """Seconds after which a request without an answer is no longer under way."""
        return 2 * self.timeout

    @property
    def backoff(self) -> float:
        """The unit of the growing pauses between attempts to read."""
        return self.timeout / 30

    @classmethod
    def from_environment(cls) -> RequestTimeouts:
        """The timeouts that BUGREPORT_GITHUB_TIMEOUT asks for.

        Raises:
            UsageError: it holds no number of seconds.
        """
        given = os.environ.get(_TIMEOUT_VARIABLE, "")
        try:
            timeout = float(given or _TIMEOUT)
            if not 0.05 <= timeout <= 3600:
                raise ValueError
        except ValueError:
            raise UsageError(
                f"{_TIMEOUT_VARIABLE} is {given!r}, but must be a number of seconds; correct it or"
                " unset it"
            ) from None
        return cls(timeout)


def is_incomplete(results: object) -> bool:
    """Whether a search that was read gave up before it had looked everywhere: what it did not find
    may be there.
    """
    return bool(getattr(results, "incomplete_results", None))  # PyGithub knows it since 2.10


class ReadRetry(Retry):
    """Repeats what only reads, after server errors and where the server says how soon; nothing
    else, ever.

    urllib3 makes copies of a retry for each attempt, so it has no state of its own but the way it
    waits.
    """

    def __init__(self, *given: Any, wait: Callable[[float], None] = time.sleep, **more: Any):
        super().__init__(*given, **more)
        self._wait = wait

    def new(self, **more: Any) -> ReadRetry:
        """The copy for the next attempt, which waits in the same way."""
        return super().new(wait=self._wait, **more)

    def sleep(self, response: urllib3.BaseHTTPResponse | None = None) -> None:
        """As long as the server asked for, else a growing while."""
        asked = self.get_retry_after(response) if response is not None else None
        seconds = asked or self.get_backoff_time()
        if seconds > 0:
            self._wait(seconds)

    def is_retry(self, method: str, status_code: int, has_retry_after: bool = False) -> bool:
        """Whether a status is worth another attempt: of a read alone, where the server is busy or
        says when to come back.
        """
        if method.upper() not in _READS:
            return False
        return status_code in _BUSY or (status_code == 403 and has_retry_after)

    def increment(  # type: ignore[override]
        self,
        method: str | None = None,
        url: str | None = None,
        response: urllib3.BaseHTTPResponse | None = None,
        error: Exception | None = None,
        _pool: Any = None,
        _stacktrace: TracebackType | None = None,
    ) -> Retry:
        """The retry for the next attempt.

        Raises:
            Exception: `error` itself; it was no read.
            urllib3.exceptions.MaxRetryError: no attempt is left, or the server asks for more than
                `LONGEST_WAIT` seconds.
        """
        if error is not None and (method or "").upper() not in _READS:
            raise error.with_traceback(_stacktrace)  # not even where the connection was refused
        asked = self.get_retry_after(response) if response is not None else None
        if asked is not None and asked > LONGEST_WAIT:
            # the answer itself goes back, and says when to come again
            raise urllib3.exceptions.MaxRetryError(_pool, url or "")
        return super().increment(method, url, response, error, _pool, _stacktrace)


class TrackerSession:
    """One host and one identity.

    `github` is PyGithub's entry; use it inside `explain_failures`, which speaks for its failures.
    """

    def __init__(
        self, host: str, *, timeouts: RequestTimeouts | None = None, token_needed: bool = True
    ) -> None:
        """Reads the token from the environment; sends nothing.

        Raises:
            AuthenticationError: there is no token for this host, and one is needed.
            UsageError: a variable holds something that cannot be used.
        """
        self.host = host
        self.timeouts = timeouts or RequestTimeouts.from_environment()
        self.token: Token | None = need_token(host) if token_needed else find_token(host)
        self._api = build_api_url(host)
        self.github = github.Github(
            auth=github.Auth.Token(self.token.value) if self.token else None,
            base_url=self._api,
            timeout=math.ceil(self.timeouts.timeout),  # PyGithub wants whole seconds
            user_agent=f"torch-bugreport/{VERSION}",
            per_page=100,
            retry=ReadRetry(
                total=2,
                backoff_factor=self.timeouts.backoff,
                raise_on_status=False,
                respect_retry_after_header=True,
                wait=self.timeouts.sleep,
            ),
            seconds_between_requests=None,
            seconds_between_writes=self.timeouts.pause,
        )

    @contextlib.contextmanager
    def explain_failures(self, doing: str, *, writes: bool = False) -> Iterator[None]:
        """Turns every failure of the calls inside into one sentence.

        Args:
            doing: what was asked for, after "to": "read pytorch/pytorch", "create the issue".
            writes: the calls change something. They must then be one request.

        Raises:
            AuthenticationError, UsageError: a refusal; nothing has happened.
            TrackerError: no answer that can be used; see `may_have_happened`.
        """
        try:
            yield
        except (github.IncompletableObject, github.BadAttributeException) as error:
            # an answer came, but it lacks what every such answer has
            raise describe_no_answer(
                self.host, doing, error, self.timeouts.timeout, writes=writes
            ) from None
        except github.GithubException as error:
            raise describe_refusal(
                self.host, self.token, doing, error, now=time.time(), writes=writes
            ) from None
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise describe_no_answer(
                self.host, doing, error, self.timeouts.timeout, writes=writes
            ) from None
        except _MISREAD as error:
            # among them that an address in the answer is not the host's own
            raise describe_no_answer(
                self.host, doing, error, self.timeouts.timeout, writes=writes
            ) from None

    def read_repository(self, wanted: Repository) -> github.Repository.Repository:
        """The project under the name that it has today: requests to a former name are redirected,
        and writes get lost.

        Raises:
            AuthenticationError, UsageError: the project cannot be read with this token.
            TrackerError: no answer that can be used, such as one without a name.
        """
        with self.explain_failures(f"read {wanted}"):
            found = self.github.get_repo(wanted.full_name)
            if not isinstance(found.full_name, str) or "/" not in found.full_name:
                raise ValueError("a repository without a name")
            return found

    def close(self) -> None:
        """Ends the connections."""
        self.github.close()

    def __enter__(self) -> TrackerSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
