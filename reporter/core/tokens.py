"""A token is taken out of the environment before anything else runs, so no child process can
inherit what is not there.

`take` is called once, by the command itself. Library users who start no command keep their
environment; for them every process of the target is started with `remove_tokens`. Whatever the
tool prints or logs goes through `redact`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

#: Credentials of an issue tracker, whichever host they are for: GH_TOKEN, GITHUB_ENTERPRISE_TOKEN,
#: and the like.
_NAME = re.compile(r"^(GH|GITHUB)_(\w+_)?TOKEN$", re.IGNORECASE)
#: What may be a credential of anything.
_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|KEY|CREDENTIAL|^GH_|^GITHUB_", re.IGNORECASE)
#: A shorter value is a placeholder; taking it out of every line would make the lines unreadable.
_LEAST = 8
#: A part of this many characters counts as the token, wherever it is cut from.
_RUN = 12
#: Up to the last `@` before a slash: a password may have one as it is.
_LOGIN = re.compile(r"(\b[a-z][a-z0-9+.-]*://)[^/\s]*@", re.IGNORECASE)
_PUBLIC_PREFIX = re.compile(r"gh[a-z]_|github_pat_|glpat-")
_taken: dict[str, str] = {}


def take() -> None:
    """Moves the tokens of this process out of its environment; `read_tokens` still has them."""
    for name in [name for name in os.environ if _NAME.match(name)]:
        _taken[name] = os.environ.pop(name)


def read_tokens() -> dict[str, str]:
    """The tokens that this process was given, by variable, without those that are empty."""
    found = {name: value for name, value in os.environ.items() if _NAME.match(name)}
    return {name: value.strip() for name, value in {**_taken, **found}.items() if value.strip()}


def remove_tokens(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a child process."""
    return {name: value for name, value in environment.items() if not _NAME.match(name)}


def remove_credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """The same for a candidate, without anything that could be a credential."""
    return {name: value for name, value in environment.items() if not _SECRET.search(name)}


def remove_logins(text: str) -> str:
    """The text without user names and passwords in its URLs, as in `https://user:secret@host/`."""
    return _LOGIN.sub(r"\1", text)


def redact(text: str) -> str:
    """The text without any token that this process was given, and without parts of one.

    A server may repeat a token cut in two. So a run of 12 characters of it counts as the token, and
    so does its beginning or its end from 4 characters on that are not the public prefix.
    """
    held = [(f"<{name}>", value) for name, value in read_tokens().items() if len(value) >= _LEAST]
    longest_first = sorted(held, key=lambda item: -len(item[1]))
    for mark, value in longest_first:
        text = text.replace(value, mark)
    for mark, value in longest_first:
        text = _mask_token(text, value, mark)
    return text


def _mask_token(text: str, token: str, mark: str) -> str:
    """The text with `mark` for each part of `token` that is long enough to count."""
    prefix = _PUBLIC_PREFIX.match(token)
    least = max(_LEAST, 4 + (prefix.end() if prefix else 0))
    head, tail = token[:least], token[-max(_LEAST, 4) :]
    if len(token) < least or not (_shares_run(text, token) or head in text or tail in text):
        return text
    built, place = [], 0
    while place < len(text):
        length = _measure_run(text, place, token)
        found = text[place : place + length]
        if length >= _RUN or length >= least and (token.startswith(found) or token.endswith(found)):
            built.append(mark)
            place += length
        else:
            built.append(text[place])
            place += 1
    return "".join(built)


def _shares_run(text: str, token: str) -> bool:
    return any(token[i : i + _RUN] in text for i in range(max(0, len(token) - _RUN + 1)))


def _measure_run(text: str, place: int, token: str) -> int:
    """How many characters from `place` on are a part of the token."""
    length = 0
    while place + length < len(text) and text[place : place + length + 1] in token:
        length += 1
    return length
