"""`bugreport env` shows exactly the Versions block that an issue would have: same collector, same
renderer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reporter.execution.interpreter import ask, probe
from reporter.execution.launch import COLLECTORS
from reporter.report.environment import build_public_environment, list_withheld
from reporter.report.sections.base import build_section
from reporter.report.sections.machine import EnvironmentSection
from templates.versions import render_versions

# Runs in the target: the collectors load themselves by location, under a private name.
_COLLECT = """
import importlib, os, runpy
loader = runpy.run_path(os.path.join(sys.argv[1], "entry", "bootstrap.py"))
loader["load_package"]()
machine = importlib.import_module(loader["PACKAGE"] + ".machine.environment")
answer(environment=machine.collect_environment())
"""


@dataclass(frozen=True)
class Versions:
    """What `collectors.machine.environment` found in one interpreter, as far as it may leave, and
    the words of the rest.
    """

    environment: EnvironmentSection
    withheld: tuple[str, ...] = ()
    exit_code: int = 0

    def to_json(self) -> dict[str, object]:
        """The facts by name."""
        return {"schema_version": 1, "environment": self.environment.to_json()}

    def summarize(self) -> list[str]:
        """The lines of the Versions block."""

        return render_versions(self.environment.to_json()).splitlines()


def collect(python: Path) -> Versions:
    """The Versions block of `python`.

    Raises:
        UsageError: that interpreter or its torch cannot be used.
    """
    probe(python)
    facts = ask(python, _COLLECT, [str(COLLECTORS)])["environment"]
    shown = build_section(EnvironmentSection, build_public_environment(facts))
    return Versions(shown, list_withheld(facts))
