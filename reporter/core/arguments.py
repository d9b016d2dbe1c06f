"""The options that one command alone has: each is declared once, as a field of a dataclass.

The command's parameters are made from these fields, in their order (`reporter.cli.parameters`).
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Argument:
    """How a field is spoken about on the command line.

    Without a `flag` it is what stands there without one, without a `metavar` a switch. `limits` are
    the least and the most that a number may be. A field that may be given several times is a tuple.
    """

    flag: str
    metavar: str | None
    help: str
    limits: tuple[int | None, int | None] = (None, None)


def declare_argument(metavar: str, help: str, default: Any = MISSING) -> Any:
    """A field that is given without a flag.

    Args:
        metavar: what the usage calls it.
        help: its line on the help page.
        default: without one it has to be given; a tuple if there may be several.
    """
    return field(default=default, metadata={"argument": Argument("", metavar, help)})


def declare_switch(flag: str, help: str) -> Any:
    """A field that is true if its flag was given."""
    return field(default=False, metadata={"argument": Argument(flag, None, help)})


def declare_option(
    flag: str,
    metavar: str,
    help: str,
    default: Any = None,
    limits: tuple[int | None, int | None] = (None, None),
) -> Any:
    """A field whose flag takes a value.

    Args:
        flag: with its dashes.
        metavar: what the usage calls the value.
        help: its line on the help page.
        default: a tuple if it may be given several times.
        limits: the least and the most that a number may be; None: no limit.
    """
    return field(default=default, metadata={"argument": Argument(flag, metavar, help, limits)})


def declare_index(help: str) -> Any:
    """A field for the package index in which a command looks for releases."""
    return declare_option("--index", "URL", help)


def declare_backend(default: str = "") -> Any:
    """A field for the build of torch that is installed; `default` says which it is without."""
    return declare_option("--torch-backend", "NAME", "Build to install: cpu, cu126, ..." + default)
