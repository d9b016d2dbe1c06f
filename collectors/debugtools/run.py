"""The tools by their names, and the recorded call once more with them on.

A candidate with a public repro switches them on itself (see `worker.candidate`).
"""

from __future__ import annotations

import os

from ..call import context, restoring, rungs
from ..protocol.evidence import EvidenceAnswer, EvidenceRequest, ToolsRequest
from ..protocol.words import CallOutcome
from .inductor import InductorFolder
from .logs import Logs
from .one_function import OneFunction
from .phases import Phases
from .profiler import Profiler
from .structured import StructuredTrace
from .tool import ToolSession

TOOLS = (OneFunction, Logs, StructuredTrace, InductorFolder, Phases, Profiler)


def build_session(request: ToolsRequest) -> ToolSession:
    """The tools that are asked for, in their folders."""
    import torch._dynamo  # noqa: F401  the tools patch what the program will use

    names = request.get("tools") or [tool.name for tool in TOOLS]
    chosen = [tool for tool in TOOLS if tool.name in names]
    options = request.get("options") or {}
    return ToolSession(
        [tool(os.path.join(request["folder"], tool.name), options) for tool in chosen]
    )


def ask_of_call(call: rungs.RecordedCall, request: EvidenceRequest) -> EvidenceAnswer:
    """Repeats a recorded call in this (forked) process, compiled afresh as the user did, with the
    tools on.
    """
    rungs.quiet_compile_workers()
    tools = build_session(request)
    tools.start()
    raised = None
    try:
        with context.apply_state(call.conditions.state):
            function = rungs.compile_with(call, {})
            with restoring.keep_state(call):
                rungs.replay_history(call, function)
            function(*call.args, **call.kwargs)
    except Exception as error:  # the call is the program's code
        raised = type(error).__name__
    return {"outcome": CallOutcome.OK, "found": tools.stop(), "raised": raised}
