"""The two places where tools are switched on: a fork of the recorded call, and a fresh process with
a public repro.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from typing import List

from ..call import context, failure, restoring, rungs
from ..dynamo import counters
from ..machine.processes import write_json
from ..protocol import (
    EvidenceAnswer,
    EvidenceRequest,
    ScriptEvidenceAnswer,
    ScriptEvidenceSpec,
    ToolsRequest,
)
from .inductor import InductorFolder
from .logs import Logs
from .one_function import OneFunction
from .phases import Phases
from .profiler import Profiler
from .structured import StructuredTrace
from .tool import ToolSession

TOOLS = (OneFunction, Logs, StructuredTrace, InductorFolder, Phases, Profiler)


def session(request: ToolsRequest) -> ToolSession:
    """The tools that are asked for, in their folders."""
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
    tools = session(request)
    tools.start()
    raised = None
    try:
        with context.apply_state(call.state):
            function = rungs.compile_with(call, {})
            with restoring.keep_state(call):
                rungs.replay_history(call, function)
            function(*call.args, **call.kwargs)
    except Exception as error:
        raised = type(error).__name__
    return {"outcome": "ok", "found": tools.stop(), "raised": raised}


def ask_of_script(spec: ScriptEvidenceSpec) -> ScriptEvidenceAnswer:
    """Runs a repro as `__main__` in this process with the tools on."""
    import torch._dynamo  # noqa: F401  the tools patch what the program will use

    tools = session(spec)
    tools.start()
    ending: ScriptEvidenceAnswer = {"outcome": "ok", "exit": 0, "raised": None}
    sys.argv = [spec["script"]]
    try:
        runpy.run_path(spec["script"], run_name="__main__")
    except SystemExit as stop:
        ending["exit"] = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException as error:
        ending["exit"], ending["raised"] = 1, type(error).__name__
        ending["failure"] = failure.describe(error)
    ending["compilations"] = counters.count_compilations()
    ending["found"] = tools.stop()
    return ending


def main(arguments: List[str]) -> int:
    """`… run SPEC.json`: a request with `script`; the answer goes to `answer.json` in its
    folder.
    """
    with open(arguments[0], encoding="utf-8") as source:
        spec: ScriptEvidenceSpec = json.load(source)
    answer = ask_of_script(spec)
    write_json(os.path.join(spec["folder"], "answer.json"), answer)
    return 0
