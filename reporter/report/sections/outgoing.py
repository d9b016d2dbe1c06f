"""The sections about what leaves: the issue, its lint, and the leak check."""

from __future__ import annotations

from reporter.report.sections.base import Section
from reporter.report.sections.machine import EnvironmentSection


class LeakCheckSection(Section, frozen=True):
    """The leak check; a report that failed it is never written, so `findings` is empty."""

    passed: bool
    terms_checked: int
    findings: tuple[()] = ()


class IssueSection(Section, frozen=True, kw_only=True):
    """What the issue says beside the report's numbers; `releases` maps a release to what it did."""

    environment: EnvironmentSection
    version: str
    error_log: str = ""
    #: phrases without a full stop
    culprit: str = ""
    workaround: str = ""
    releases: dict[str, str] = {}
    #: what the reporter wrote; only then does the text say that a person confirmed it
    human_words: str = ""
    #: marks the issue, so that it is never filed twice
    key: str = ""
    #: its name, "own" for a folder of the user's
    form: str = "pytorch"
    #: caption, language and text of what the compiler made of the repro, such as a kernel
    excerpt: dict[str, str] | None = None


class RuleViolation(Section, frozen=True, kw_only=True):
    """A rule that something breaks, and what would satisfy it."""

    rule: str
    weight: str
    file: str
    line: int | None
    found: str
    wants: str
    way_out: str

    def describe(self) -> str:
        """For people: place, rule, what is wrong and what to do."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.found} [{self.rule}]; {self.way_out}"


class LintSection(Section, frozen=True, kw_only=True):
    """The issue against the rules of the receiving side."""

    clean: bool
    rules: tuple[str, ...] = ()
    findings: tuple[RuleViolation, ...] = ()
