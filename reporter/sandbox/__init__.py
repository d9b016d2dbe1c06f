"""Runs other people's programs confined: `make_sandbox` says what a process may see, `Sandbox.run`
holds it to that.

Rooms above may import it; the names below are all that most need. It never decides whether a
program is worth running, and never runs one where it cannot confine it.
"""

from reporter.sandbox.limits import Limits
from reporter.sandbox.sandbox import Sandbox, SandboxResult, make_sandbox

__all__ = ["Limits", "SandboxResult", "Sandbox", "make_sandbox"]
