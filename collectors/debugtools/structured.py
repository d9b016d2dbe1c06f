"""The structured trace (TORCH_TRACE, what tlparse reads): one file of JSON lines that holds the
whole program.

The handler is put in place by hand, since the variable is read once when torch is imported. Such a
log contains every graph, every kernel and every path, so it never leaves the private folder.
"""

from __future__ import annotations

import json
import logging
import os
from typing import Dict

from ..protocol.evidence import StructuredFacts
from .tool import Tool, ToolUnavailableError


class StructuredTrace(Tool):
    """`dedicated_log_torch_trace_….log`, and how many entries of each kind it has."""

    name = "trace"

    def start(self) -> None:
        """Has torch write its structured trace into the folder.

        Raises:
            ToolUnavailableError: this release has none.
        """
        try:
            from torch._logging import _internal

            handler = _internal.LazyTraceHandler(self.folder)
            handler.setFormatter(_internal.TorchLogsFormatter(trace=True))
        except (ImportError, AttributeError, TypeError):
            raise ToolUnavailableError("this release has no structured trace") from None
        # what `_init_logs` would attach, should anybody call it later
        _internal.LOG_TRACE_HANDLER = handler
        for old in list(_internal.trace_log.handlers):
            _internal.trace_log.removeHandler(old)
        _internal.trace_log.setLevel(logging.DEBUG)
        _internal.trace_log.addHandler(handler)

    def stop(self) -> StructuredFacts:
        """How many entries of each kind were written.

        Raises:
            ToolUnavailableError: nothing was traced.
        """
        from torch._logging import _internal

        _internal.LOG_TRACE_HANDLER.flush()
        kinds: Dict[str, int] = {}
        for name in sorted(os.listdir(self.folder)):
            with open(self.build_path(name), encoding="utf-8", errors="replace") as source:
                for line in source:
                    kind = _read_kind(line)
                    if kind:
                        kinds[kind] = kinds.get(kind, 0) + 1
        if not kinds:
            raise ToolUnavailableError("nothing was traced")
        return {"entries": dict(sorted(kinds.items()))}


def _read_kind(line: str) -> str:
    """What an entry is about: the one key that is not bookkeeping; payload lines, which are
    indented, are none.
    """
    start = line.find("] {")
    if line.startswith(("\t", " ")) or start < 0:
        return ""
    try:
        entry = json.loads(line[start + 2 :])
    except ValueError:
        return ""
    own = (
        "frame_id",
        "frame_compile_id",
        "attempt",
        "has_payload",
        "stack",
        "rank",
        "process",
        "pathname",
        "lineno",
        "str",
    )
    names = [name for name in entry if name not in own and not name.startswith("compiled_autograd")]
    if names[:1] == ["artifact"] and isinstance(entry["artifact"], dict):
        return "artifact " + str(entry["artifact"].get("name", ""))
    return names[0] if names else ""
