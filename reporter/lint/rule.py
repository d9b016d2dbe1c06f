"""A rule is a row: what it wants in one sentence, the way out in another, and a function that finds
where it is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from reporter.lint.subject import LintSubject

#: What a rule yields: where (a file), which line of it (None: no particular one), and what was
#: found there.
Hit: TypeAlias = "tuple[str, int | None, str]"
Weight = Literal["error", "advice"]


@dataclass(frozen=True)
class Rule:
    """One rule.

    `error`: an issue that breaks it may be closed for that; `advice`: it may be asked about.
    """

    id: str
    wants: str
    way_out: str
    find_hits: Callable[[LintSubject], Iterator[Hit]]
    weight: Weight = "error"

    @property
    def text(self) -> str:
        """Its words, which are ours."""
        return f"{self.id} {self.wants} {self.way_out}"
