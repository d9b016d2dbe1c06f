"""One way to switch a debugging tool on and off, whatever it is: start before the program, stop
after it, a folder between.

What a tool wrote stays in its folder even where the program takes the process down; `stop` then
never runs, and the files are the evidence.
"""

from __future__ import annotations

import os
import time
import traceback
from typing import Dict, List, Sequence

from ..protocol.evidence import EvidenceOptions, ToolFacts, ToolNote


class ToolUnavailableError(Exception):
    """Raised by `start` or `stop`: this release has no such tool, or it has nothing to say.

    Its text is the reason.
    """


class Tool:
    """A debugging tool of torch. `name` is also the name of its folder."""

    name = ""

    def __init__(self, folder: str, options: EvidenceOptions) -> None:
        self.folder = folder
        self.options = options

    def start(self) -> None:
        """Switches it on.

        Raises:
            ToolUnavailableError: this release does not have it, or it was not asked for.
        """

    def stop(self) -> ToolFacts:
        """Switches it off and returns what can be said in JSON.

        Raises:
            ToolUnavailableError: there is nothing to say.
        """
        raise NotImplementedError

    def build_path(self, name: str) -> str:
        """A file in this tool's folder."""
        return os.path.join(self.folder, name)


class ToolSession:
    """Several tools around one program."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = list(tools)
        self._running: List[Tool] = []
        self.found: Dict[str, ToolNote] = {}

    def start(self) -> None:
        """Switches all tools on; one that cannot is left out and says why."""
        for tool in self._tools:
            os.makedirs(tool.folder, exist_ok=True)
            self._run_step(tool, "start")

    def stop(self) -> Dict[str, ToolNote]:
        """Switches them off in reverse order; what they found, by name."""
        for tool in reversed(list(self._running)):
            self._run_step(tool, "stop")
        return self.found

    def _run_step(self, tool: Tool, step: str) -> None:
        began = time.monotonic()
        entry = self.found.setdefault(tool.name, {"seconds": 0.0})
        try:
            facts = getattr(tool, step)()
            if step == "start":
                self._running.append(tool)
            else:
                entry["facts"] = facts
        except ToolUnavailableError as reason:
            entry["skipped"] = str(reason)
        except Exception as error:  # a tool that fails is no reason to lose the others
            entry["skipped"] = (
                "it failed: " + traceback.format_exception_only(type(error), error)[-1].strip()
            )
        entry["seconds"] = round(entry["seconds"] + time.monotonic() - began, 4)
