"""Settings of torch by their full name, such as `torch._inductor.config.cpp.threads`."""

from __future__ import annotations

import importlib
from typing import Any, Mapping, Tuple


class NoSuchSettingError(Exception):
    """This torch has no setting of that name."""


def read_setting(name: str) -> Any:
    """The value of a setting.

    Raises:
        NoSuchSettingError: this torch has no such setting.
    """
    holder, last = _find(name)
    return getattr(holder, last)


def set_settings(values: Mapping[str, object]) -> None:
    """Gives settings their values.

    Raises:
        NoSuchSettingError: this torch has no such setting.
    """
    for name, value in values.items():
        holder, last = _find(name)
        try:
            setattr(holder, last, value)
        except Exception as error:  # a setter of torch's may refuse in any way
            raise NoSuchSettingError(f"{name} cannot be {value!r}: {error}") from error


def _find(name: str) -> Tuple[Any, str]:
    """What holds a setting, and the setting's name in it.

    Raises:
        NoSuchSettingError: this torch has no such setting.
    """
    parts = name.split(".")
    holder: Any = None
    end = 0
    for end in range(len(parts) - 1, 0, -1):
        try:
            holder = importlib.import_module(".".join(parts[:end]))
            break
        except ImportError:
            continue
    try:
        for part in parts[end:-1]:
            holder = getattr(holder, part)
        getattr(holder, parts[-1])
    except Exception as error:  # a module of torch's may compute it
        raise NoSuchSettingError(f"this torch has no setting {name}") from error
    return holder, parts[-1]
