"""Code that is not the user's own runs here or nowhere: `sandboxed` says what a process may see, `Sandbox.run` holds it to that."""

from reporter.sandbox.limits import Limits
from reporter.sandbox.run import Result, Sandbox, sandboxed

__all__ = ["Limits", "Result", "Sandbox", "sandboxed"]
