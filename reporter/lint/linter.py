"""All rules over one issue: the violations, in the order of the rules, and what a command says of
them.
"""

from __future__ import annotations

from dataclasses import dataclass

from reporter.core.json_values import Json
from reporter.lint import code_rules, safety_rules, text_rules
from reporter.lint.rule import Rule
from reporter.lint.subject import LintSubject
from reporter.report.sections.outgoing import RuleViolation
from templates.text import pluralize

RULES: tuple[Rule, ...] = (*text_rules.RULES, *code_rules.RULES, *safety_rules.RULES)


@dataclass(frozen=True)
class LintResult:
    """What lint found; exit code 1 where there is more than advice."""

    findings: tuple[RuleViolation, ...]

    @property
    def exit_code(self) -> int:
        """0: clean, 1: at least one violation that an issue may be closed for."""
        return int(any(violation.weight == "error" for violation in self.findings))

    def to_json(self) -> dict[str, object]:
        """The document of `--json`, and `lint` in report.json."""
        return {"schema_version": 1, **self.to_section_json()}

    def to_section_json(self) -> Json:
        """Which rules were asked and what they found."""
        return {
            "clean": self.exit_code == 0,
            "rules": [rule.id for rule in RULES],
            "findings": [violation.to_json() for violation in self.findings],
        }

    def summarize(self) -> list[str]:
        """One line for each violation, and one for all."""
        lines = [
            (
                violation.describe()
                if violation.weight == "error"
                else f"{violation.describe()} (advice)"
            )
            for violation in self.findings
        ]
        errors = sum(violation.weight == "error" for violation in self.findings)
        last = f"lint: {pluralize(errors, 'violation')}" if errors else "lint: clean"
        return [*lines, f"{last}, {len(RULES)} rules"]


def lint(subject: LintSubject) -> LintResult:
    """Asks every rule."""
    return LintResult(
        tuple(
            RuleViolation(
                rule=rule.id,
                weight=rule.weight,
                file=file,
                line=line,
                found=found,
                wants=rule.wants,
                way_out=rule.way_out,
            )
            for rule in RULES
            for file, line, found in rule.find_hits(subject)
        )
    )
