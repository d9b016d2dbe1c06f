"""Debugging one function by name: Dynamo compiles that function and leaves every other one to
Python.

TORCHDYNAMO_DEBUG_FUNCTION is read anew for each frame on every release, so it can be set in a
running process.
"""

from __future__ import annotations

import os

from ..protocol.evidence import FunctionFacts
from .tool import Tool, ToolUnavailableError


class OneFunction(Tool):
    """Option `function`: the name as in its `def`."""

    name = "one_function"

    def start(self) -> None:
        """Has Dynamo compile the function that the options name, and no other.

        Raises:
            ToolUnavailableError: they name none.
        """
        name = self.options.get("function")
        if not name:
            raise ToolUnavailableError("no function was named")
        os.environ["TORCHDYNAMO_DEBUG_FUNCTION"] = str(name)

    def stop(self) -> FunctionFacts:
        """Lets Dynamo compile everything again."""
        os.environ.pop("TORCHDYNAMO_DEBUG_FUNCTION", None)
        return {"function": self.options["function"]}
