"""What an issue shows beside the numbers of its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from templates.text import shorten, tidy_log, visible

#: Characters of a failure's log that report.json keeps.
LOG_LIMIT = 20_000


@dataclass(frozen=True)
class IssueMaterial:
    """What the issue shows beside the report's numbers.

    `releases` maps a torch version to what was seen there; `workaround` and `culprit` are phrases
    without a full stop; `human_words` is what the reporter wrote, and only then does the text say
    that a person confirmed it; `key` marks the issue so that it is never filed twice; `form` is the
    name of the form, "own" for a folder of the user's; `excerpt` (caption, language, text) is a
    piece of what the compiler made of the repro, such as a generated kernel.
    """

    repro: str
    environment: Mapping[str, Any]
    version: str
    error_log: str = ""
    culprit: str = ""
    workaround: str = ""
    releases: Mapping[str, str] = field(default_factory=dict)
    human_words: str = ""
    key: str = ""
    form: str = "pytorch"
    excerpt: Mapping[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        """What `report.json` has as `issue`: everything but the repro, which is a file of its
        own.
        """
        kept = asdict(self)
        del kept["repro"]
        return {**kept, "error_log": shorten(visible(tidy_log(self.error_log)).strip(), LOG_LIMIT)}

    @classmethod
    def of(cls, report: Mapping[str, Any], repro: str) -> IssueMaterial:
        """The material of a finished report. Raises KeyError, TypeError if it has none."""
        return cls(repro=repro, **report["issue"])
