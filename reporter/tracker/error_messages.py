"""What a tracker's refusal, or its silence, means to the person who asked: one sentence with the
way out.

A refusal is an answer, so nothing has happened. After silence (a broken connection, a server error,
an answer that is no JSON) a request that changes something may have been carried out.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import github
import requests
import urllib3

from reporter.core.errors import (
    AuthenticationError,
    BugreportError,
    TrackerError,
    UsageError,
)
from reporter.tracker.plain_text import clean_line
from reporter.tracker.repository import Token

_SERVER = 500


def describe_refusal(
    host: str,
    token: Token | None,
    doing: str,
    error: github.GithubException,
    *,
    now: float,
    writes: bool = False,
) -> BugreportError:
    """The error for an answer with a status of 400 and more (or one that PyGithub itself refuses).

    Args:
        now: seconds since the epoch, against which the end of a rate limit is held.
    """
    status, said = error.status, _read_github_words(error.data)
    headers = {str(name).lower(): str(value) for name, value in (error.headers or {}).items()}
    whose = f"the token in {token.variable}" if token else "an anonymous request"
    if status == 401:
        return AuthenticationError(
            f"{host} refuses {whose} ({said}); put a valid one there, for example `$(gh auth"
            " token)`"
        )
    if status in (403, 429) and (limit := _read_limit(headers, said, status, now)) is not None:
        when = datetime.fromtimestamp(now + limit, timezone.utc).strftime("%H:%M:%S UTC")
        return TrackerError(
            f"{host} allows {whose} no more requests before {when}, so it refused to {doing}; try"
            " again then",
            wait=limit,
        )
    if status == 403:
        return _explain_forbidden(host, whose, doing, said, headers)
    if status in (404, 410):
        return _explain_missing(host, whose, doing, said, status)
    if status == 422:
        return UsageError(f"{host} refused to {doing} (422 {said})")
    if isinstance(status, int) and 400 <= status < _SERVER:
        return UsageError(f"{host} refused to {doing} ({status} {said})")
    return TrackerError(
        f"{host} had an error of its own when asked to {doing} ({status}"
        f" {said}){_name_consequence(writes)}",
        may_have_happened=writes,
    )


def describe_no_answer(
    host: str, doing: str, error: Exception, timeout: float, *, writes: bool
) -> TrackerError:
    """The error where there was no answer, or none that can be read.

    Args:
        host: the tracker's, as `github.com`.
        doing: what it was asked to do, as "read OWNER/REPO#N".
        error: what the request raised.
        timeout: seconds that it had.
        writes: whether it would have changed something, so that this may have happened.
    """
    root = _find_root(error)
    if _is_unsent(error):
        reason = getattr(root, "strerror", None) or _shorten(root)
        return TrackerError(
            f"{host} cannot be reached to {doing} ({reason}); check the network and the host's"
            " name, then try again"
        )
    again = _name_consequence(writes)
    if isinstance(error, (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError)):
        return TrackerError(
            f"{host} gave no answer within {timeout:g} seconds when asked to {doing}{again}",
            may_have_happened=writes,
        )
    if isinstance(error, (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)):
        return TrackerError(
            f"the connection to {host} broke when it was asked to {doing}{again}",
            may_have_happened=writes,
        )
    return TrackerError(
        f"the answer of {host} cannot be read when asked to {doing}"
        f" ({type(error).__name__}){again}",
        may_have_happened=writes,
    )


def _name_consequence(writes: bool) -> str:
    return ", so it is not known whether that was done" if writes else "; try again later"


def _read_limit(headers: Mapping[str, str], said: str, status: int, now: float) -> float | None:
    """Seconds until the next request is welcome, or None where the refusal is no rate limit."""
    after = headers.get("retry-after", "")
    if after.isdigit():
        return float(after)
    if (
        headers.get("x-ratelimit-remaining") == "0"
        and headers.get("x-ratelimit-reset", "").isdigit()
    ):
        return max(1.0, float(headers["x-ratelimit-reset"]) - now)
    return 60.0 if status == 429 or "rate limit" in said.lower() else None


def _explain_forbidden(
    host: str, whose: str, doing: str, said: str, headers: Mapping[str, str]
) -> BugreportError:
    if "archived" in said.lower():
        return UsageError(f"{host} refused to {doing}, since the project is archived; name another")
    if "required" in headers.get("x-github-sso", ""):
        return AuthenticationError(
            f"{whose} is not authorized for the organization's single sign-on, so {host} refused to"
            f" {doing}; authorize it in the token's settings"
        )
    return AuthenticationError(
        f"{whose} may not do this: {host} refused to {doing} (403 {said}); use one with more rights"
    )


def _explain_missing(host: str, whose: str, doing: str, said: str, status: int) -> BugreportError:
    if status == 410:
        return UsageError(
            f"{host} refused to {doing} (410 {said}); the project has no issues, or this one was"
            " deleted"
        )
    return UsageError(
        f"{host} refused to {doing} (404): there is no such thing, or {whose} may not see it; check"
        " the name"
    )


def _read_github_words(data: Any) -> str:
    """GitHub's own words with the fields it complains about, safe to print."""
    if isinstance(data, bytes):
        data = data.decode(errors="replace")
    if isinstance(data, str):
        with_text = data
        try:
            data = json.loads(data)
        except ValueError:
            return clean_line(with_text) or "no explanation"
    if not isinstance(data, Mapping):
        return "no explanation"
    parts = [str(data.get("message") or data.get("data") or "")]
    errors = data.get("errors")
    for item in errors if isinstance(errors, list) else ():
        if isinstance(item, Mapping):
            words = item.get("message") or f"{item.get('field', '')} {item.get('code', '')}"
            parts.append(str(words))
        else:
            parts.append(str(item))
    return clean_line(": ".join(part.strip() for part in parts if part.strip()), 200) or (
        "no explanation"
    )


def _find_root(error: BaseException) -> BaseException:
    """What the operating system said, below the layers of two libraries."""
    seen: set[int] = set()
    while id(error) not in seen:
        seen.add(id(error))
        inner = getattr(error, "reason", None)
        below = inner if isinstance(inner, BaseException) else None
        below = below or next((a for a in error.args if isinstance(a, BaseException)), None)
        below = below or error.__cause__ or error.__context__
        if below is None:
            return error
        error = below
    return error


def _is_unsent(error: BaseException) -> bool:
    """Whether no byte of the request can have reached the host: there was no connection, or no
    trust in it.
    """
    unsent = (
        urllib3.exceptions.NewConnectionError,
        urllib3.exceptions.ConnectTimeoutError,
        requests.ConnectTimeout,
        requests.exceptions.ProxyError,
        requests.exceptions.InvalidURL,
        requests.exceptions.InvalidHeader,
    )
    seen: set[int] = set()
    below: BaseException | None = error
    while below is not None and id(below) not in seen:
        if isinstance(below, (*unsent, ConnectionRefusedError, ssl.SSLCertVerificationError)):
            return True
        seen.add(id(below))
        inner = getattr(below, "reason", None)
        if isinstance(inner, BaseException):
            below = inner
        else:
            below = next((a for a in below.args if isinstance(a, BaseException)), None)
    return False


def _shorten(error: BaseException) -> str:
    return clean_line(str(error).rpartition(": ")[2] or type(error).__name__, 100)
