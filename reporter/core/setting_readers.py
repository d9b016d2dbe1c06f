"""How the text of a setting, or its TOML value, becomes what `Options` holds.

Each reader raises ValueError with what it wants instead; the sentence around it names the place
that the value came from.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # nothing that is needed to say --help
    from collectors.protocol.words import Isolation

#: `torch.manual_seed` takes numbers below 2**64, and a repro may count on from its seed.
_ABOVE_SEEDS = 2**63


def read_nonempty_text(value: object) -> str:
    """A text that is not empty.

    Raises:
        ValueError: it is anything else.
    """
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a text that is not empty")
    return value


def read_path(value: object) -> Path:
    """One path; `~` is the home folder.

    Raises:
        ValueError: it is no text, or empty.
    """
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a path")
    return Path(value).expanduser()


def read_template(value: object) -> str | Path:
    """The name of a form, or a path where it has a separator in it or is no such name.

    Raises:
        ValueError: it is neither.
    """
    from templates.issue_forms import (
        list_forms,  # it loads Jinja, which only a run that names one needs
    )

    if isinstance(value, str) and value in list_forms():
        return value
    try:
        return read_path(value)
    except ValueError:
        raise ValueError(f"{', '.join(list_forms())}, or a folder") from None


def split_value(value: object) -> tuple[object, ...]:
    """The parts of a value that may have several: a list's, or a text's between the separators of
    PATH.
    """
    parts = value.split(os.pathsep) if isinstance(value, str) else value
    return tuple(parts) if isinstance(parts, (list, tuple)) else (parts,)


def read_paths(value: object) -> tuple[Path, ...]:
    """Several paths, in the order given.

    Raises:
        ValueError: there is none.
    """
    try:
        found = tuple(read_path(part) for part in split_value(value))
    except ValueError:
        found = ()
    if not found:
        raise ValueError(f"one path or several (in a text with {os.pathsep!r} between them)")
    return found


def read_releases(value: object) -> tuple[str, ...]:
    """Versions, `latest` or `nightly`, with commas between them or in a list.

    Raises:
        ValueError: it is no text, or empty.
    """
    return tuple(
        one.strip()
        for part in split_value(value)
        for one in read_nonempty_text(part).split(",")
        if one.strip()
    )


def read_repeated_texts(value: object) -> tuple[str, ...]:
    """Several names, each in an option of its own.

    Raises:
        ValueError: one is empty.
    """
    return tuple(read_nonempty_text(part) for part in split_value(value))


def read_count(value: object) -> int:
    """A whole number of at least 1.

    Raises:
        ValueError: it is anything else.
    """
    return _read_whole(value, 1)


def read_seed(value: object) -> int:
    """A whole number of at least 0 and below 2**63.

    Raises:
        ValueError: it is anything else.
    """
    seed = _read_whole(value, 0)
    if seed >= _ABOVE_SEEDS:
        raise ValueError("a whole number below 2**63")
    return seed


def _read_whole(value: object, least: int) -> int:
    try:
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            number = int(value)
            if number >= least:
                return number
    except ValueError:
        pass
    raise ValueError(f"a whole number of at least {least}")


def read_seconds(value: object) -> float:
    """A number of seconds, at least 0.1 and finite.

    Raises:
        ValueError: it is anything else.
    """
    return _read_amount(value, "seconds")


def read_budget(value: object) -> float:
    """A number of seconds as `read_seconds`, or 0.

    Raises:
        ValueError: it is anything else.
    """
    if value in (0, "0"):
        return 0.0
    return _read_amount(value, "seconds")


def read_gib(value: object) -> float:
    """Memory in GiB, at least 0.1 and finite.

    Raises:
        ValueError: it is anything else.
    """
    return _read_amount(value, "GiB")


def _read_amount(value: object, unit: str) -> float:
    try:
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            number = float(value)
            if 0.1 <= number < float("inf"):
                return number
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"a number of {unit} of at least 0.1")


def read_workers(value: object) -> Isolation:
    """How processes are made.

    Raises:
        ValueError: it is neither fork nor spawn.
    """
    ways: tuple[Isolation, ...] = ("fork", "spawn")
    for way in ways:
        if value == way:
            return way
    raise ValueError("fork or spawn")


def read_switch(value: object) -> bool:
    """A truth value, also as one of the words that people write into variables.

    Raises:
        ValueError: it is any other word.
    """
    known = {"1": True, "true": True, "yes": True, "on": True}
    known |= {"0": False, "false": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or value.strip().lower() not in known:
        raise ValueError("true or false")
    return known[value.strip().lower()]


def read_comma_list(value: object) -> tuple[str, ...]:
    """Names with commas between them.

    Raises:
        ValueError: there is none.
    """
    found = tuple(name.strip() for name in read_nonempty_text(value).split(",") if name.strip())
    if not found:
        raise ValueError("names with commas between them")
    return found
