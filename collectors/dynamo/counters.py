"""How often tracing stopped and functions were compiled again in this process, of what torch keeps
count of anyway.

Needs the standard library alone and never imports torch, so the recorder of a program that never
imports it can ask as well.
"""

from __future__ import annotations

import contextlib
import re
import sys
from typing import Any, List, Tuple

from ..protocol.events import DynamoCounts

MOST_LISTED = 20
#: Characters of a guard or a reason.
MOST_TEXT = 400
#: How each release words that a function is not compiled any more.
_LIMIT = re.compile(r"cache_size_limit|recompile[_ ]limit", re.IGNORECASE)


def count() -> DynamoCounts:
    """What this process has on record.

    Costs a look at a few dictionaries and never imports torch.
    """
    found: DynamoCounts = {
        "graph_breaks": 0,
        "recompiles": 0,
        "limit_hit": False,
        "failed": [],
    }
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return found
    with contextlib.suppress(Exception):  # tables of Dynamo's, which every release changes
        found["graph_breaks"] = max(
            _count_breaks(utils), len(getattr(utils, "graph_break_reasons", ()))
        )
        texts = utils.counters.get("unimplemented", {})
        found["limit_hit"] = any(_LIMIT.search(text) for text in texts)
        for code, reasons in list(utils.guard_failures.items()):
            entries = [split_reason(str(reason)) for reason in reasons]
            # the attempt that hits the limit notes its reasons too, and compiles nothing
            found["recompiles"] += min(
                _count_times([name for name, _ in entries]), read_recompile_limit() - 1
            )
            for guard in dict.fromkeys(guard for _, guard in entries):
                if len(found["failed"]) < MOST_LISTED:
                    found["failed"].append(
                        {
                            "guard": guard,
                            "function": code.co_name,
                            "file": code.co_filename,
                            "line": code.co_firstlineno,
                        }
                    )
    return found


def count_compilations() -> int:
    """How many frames Dynamo has compiled in this process, or tried to (`counters["frames"]` of
    `torch/_dynamo/convert_frame.py`, from 2.0 on).
    """
    utils = sys.modules.get("torch._dynamo.utils")
    with contextlib.suppress(Exception):  # as above
        return int(utils.counters.get("frames", {}).get("total", 0)) if utils is not None else 0
    return 0


def read_recompile_limit() -> int:
    """How many compiles of one function torch allows; what the setting is called depends on the
    release.
    """
    config = sys.modules.get("torch._dynamo.config")
    names = ("recompile_limit", "cache_size_limit")
    return int(next((getattr(config, name) for name in names if hasattr(config, name)), 1 << 30))


def _count_breaks(utils: Any) -> int:
    """Breaks by torch's counters; a break they miss still leaves a function that resumes after
    it.
    """
    counters = utils.counters
    breaks = sum(counters.get("graph_break", {}).values())
    skipped = sum(
        times
        for text, times in counters.get("unimplemented", {}).items()
        if not _LIMIT.search(text)
    )
    resume = sys.modules.get("torch._dynamo.resume_execution")
    resumed = getattr(getattr(resume, "ContinueExecutionCache", None), "cache", None)
    return max(int(breaks) + int(skipped), len(getattr(resumed, "values", ())))


def split_reason(reason: str) -> Tuple[str, str]:
    """(id of the earlier compile that did not fit, its failed guard in one line); 2.0 gives no
    ids.
    """
    match = re.match(r"(\[?\d+/\d+\]?): (.*)", reason, re.DOTALL)
    name, guard = match.groups() if match else ("", reason)
    line = next((line.strip() for line in guard.splitlines() if line.strip()), "")
    return name, line.split("  # ")[0].strip()[:MOST_TEXT]


def _count_times(names: List[str]) -> int:
    """How often a function was compiled again: each time every earlier compile is named once."""
    return max((names.count(name) for name in set(names)), default=0)
