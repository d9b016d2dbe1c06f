"""All of TORCH_LOGS in one run and one file, split by what each line says it is.

Debug includes info, and artifacts (guards, recompiles, graph breaks, generated code, schedule)
carry their name in brackets, so one run answers what would be a run per setting. torch 2.0 has two
levels and no artifacts.
"""

from __future__ import annotations

import logging
import os
import re
from typing import Dict, List

from ..protocol.evidence import LogFacts
from .tool import Tool, ToolUnavailableError

_LOGS = ("dynamo", "aot", "inductor", "dynamic")
_ARTIFACTS = (
    "guards",
    "recompiles",
    "graph_breaks",
    "graph_code",
    "graph_sizes",
    "aot_graphs",
    "aot_joint_graph",
    "pre_grad_graphs",
    "post_grad_graphs",
    "ir_pre_fusion",
    "ir_post_fusion",
    "output_code",
    "kernel_code",
    "schedule",
    "fusion",
    "perf_hints",
    "side_effects",
    "cudagraphs",
)
_LINE = re.compile(
    r"^(?P<level>[DVIWEC])\d{4} .*?\] (?:\[[\d/_-]+\] )?(?:\[__(?P<artifact>\w+)\] )?(?P<text>.*)$"
)
_MAX_FILE = 64 << 20


class Logs(Tool):
    """`all.log` (info and debug of Dynamo, AOTAutograd and inductor) and a file for each artifact
    that was written.
    """

    name = "logs"

    def start(self) -> None:
        """Has torch write the logs and the artifacts that it knows into one file.

        Raises:
            ToolUnavailableError: this release has no logs to switch on.
        """
        try:
            from torch._logging import _internal
        except ImportError:
            self._start_old()
            return
        registry = _internal.log_registry
        known = [name for name in _ARTIFACTS if registry.is_artifact(name)]
        wanted = ["+" + name for name in _LOGS if registry.is_log(name)] + known
        saved = {name: os.environ.get(name) for name in ("TORCH_LOGS", "TORCH_LOGS_OUT")}
        os.environ.update(TORCH_LOGS=",".join(wanted), TORCH_LOGS_OUT=self.build_path("all.log"))
        try:
            _internal._init_logs()
        finally:
            for name, value in saved.items():
                os.environ.pop(name, None) if value is None else os.environ.update({name: value})

    def _start_old(self) -> None:
        import torch._dynamo.config as config

        if not hasattr(config, "log_level"):
            raise ToolUnavailableError("this release has no logs to switch on")
        os.environ.pop("PYTEST_CURRENT_TEST", None)  # 2.0 logs nothing below pytest
        config.log_level = logging.DEBUG
        config.output_code = True
        config.verbose = True
        config.log_file_name = self.build_path("all.log")

    def stop(self) -> LogFacts:
        """Divides the file by artifact, and counts the lines.

        Raises:
            ToolUnavailableError: nothing was logged.
        """
        for handler in [
            h
            for name in ("torch", "torch._dynamo", "torch._inductor")
            for h in logging.getLogger(name).handlers
        ]:
            handler.flush()
        if not os.path.exists(self.build_path("all.log")):
            raise ToolUnavailableError("nothing was logged")
        return _split_log(self.build_path("all.log"), self.folder)


def _split_log(path: str, folder: str) -> LogFacts:
    """Writes `<artifact>.log` for each artifact in a log, and counts the lines."""
    with open(path, encoding="utf-8", errors="replace") as source:
        lines = source.read(_MAX_FILE).splitlines()
    levels: Dict[str, int] = {}
    artifacts: Dict[str, List[str]] = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        if match["artifact"]:
            artifacts.setdefault(match["artifact"], []).append(match["text"])
        else:
            levels[match["level"]] = levels.get(match["level"], 0) + 1
    for name, texts in artifacts.items():
        with open(os.path.join(folder, name + ".log"), "w", encoding="utf-8") as out:
            out.write("\n".join(texts) + "\n")
    return {
        "lines": len(lines),
        "levels": levels,
        "artifacts": {name: len(texts) for name, texts in sorted(artifacts.items())},
    }
