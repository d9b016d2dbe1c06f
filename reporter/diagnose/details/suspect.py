"""What the search for a culprit found, as data and in words. Every text in it is public."""

from __future__ import annotations

from dataclasses import dataclass

from reporter.core.kinds import Layer


@dataclass(frozen=True)
class Tried:
    """One switch and what it did: `gone` is None where that could not be judged."""

    name: str
    setting: str
    meaning: str
    gone: bool | None
    seconds: float = 0.0
    detail: str = ""


@dataclass(frozen=True)
class Culprit:
    """Where in the compiler the bug is made, and how to get around it.

    Every text in it is public.
    """

    layer: Layer
    stable: bool
    subsystem: str | None = None
    application: int | None = None
    of: int | None = None
    operator: str | None = None
    graph_pass: str | None = None
    exact: bool = False
    subsystems: tuple[Tried, ...] = ()
    switches: tuple[Tried, ...] = ()
    workaround: tuple[str, ...] = ()
    confirmed: bool | None = None
    minimal: bool = True
    not_tried: tuple[str, ...] = ()
    runs: int = 0
    seconds: float = 0.0
    measured_seconds: float = 0.0

    def phrase(self) -> str:
        """Where it is made, without a full stop; empty if the search did not tell."""
        if self.subsystem is None:
            return ""
        what = self.operator or self.graph_pass
        number = f", application {self.application}" if self.application else ""
        number += f" of {self.of}" if number and self.of else ""
        return f"{self.subsystem}{number}" + (f" ({what})" if what else "")

    def sentence(self) -> str:
        """One or two sentences for people."""
        if not self.stable:
            return (
                "The bug did not show when the call was compiled afresh, so no culprit was sought."
            )
        parts = [f"The bug comes with {self.phrase()}."] if self.subsystem is not None else []
        if self.workaround:
            parts.append(f"It goes away with {' and '.join(self.workaround)}.")
        elif self.switches:
            judged = sum(1 for switch in self.switches if switch.gone is not None)
            parts.append(f"None of {judged} settings makes it go away.")
        return " ".join(parts)
