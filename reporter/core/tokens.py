"""A token is taken out of the environment before anything else runs, so no child process can
inherit what is not there.

`take` is called once, by the command itself. Library users who start no command keep their
environment; for them every process of the target is started with `without_tokens`. Whatever the
tool prints or logs goes through `redact`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

#: Credentials of an issue tracker, whichever host they are for: GH_TOKEN, GITHUB_ENTERPRISE_TOKEN,
#: and the like.
_NAME = re.compile(r"^(GH|GITHUB)_(\w+_)?TOKEN$", re.IGNORECASE)
#: A shorter value is a placeholder; taking it out of every line would make the lines unreadable.
_LEAST = 8
_taken: dict[str, str] = {}


def take() -> None:
    """Moves the tokens of this process out of its environment; `held` still knows them."""
    for name in [name for name in os.environ if _NAME.match(name)]:
        _taken[name] = os.environ.pop(name)


def held_tokens() -> dict[str, str]:
    """The tokens that this process was given, by variable, without those that are empty."""
    found = {name: value for name, value in os.environ.items() if _NAME.match(name)}
    return {name: value.strip() for name, value in {**_taken, **found}.items() if value.strip()}


def without_tokens(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment for a child process."""
    return {name: value for name, value in environment.items() if not _NAME.match(name)}


def redact(text: str) -> str:
    """The text without the value of any token that this process was given."""
    longest_first = sorted(held_tokens().items(), key=lambda item: -len(item[1]))
    for name, value in longest_first:
        if len(value) >= _LEAST:
            text = text.replace(value, f"<{name}>")
    return text
