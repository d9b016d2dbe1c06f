"""What slows a compiled program down without breaking it: graph breaks, recompiles, the recompile
limit.

The script's own process only keeps count, of what torch keeps count of anyway. The details are
found in a fork, which compiles afresh and calls again with the shapes seen before — without
`fullgraph`, which stops at the first break instead of finding all of them.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import glob
import os
import re
import sys
from typing import Any, Dict, List, Tuple

from ..protocol import (
    BreakRecord,
    ComplaintCounts,
    ComplaintsAnswer,
    ComplaintsRequest,
    RecompileRecord,
)

_MAX_LISTED = 20
_MAX_TEXT = 400
#: How each release words that a function is not compiled any more.
_LIMIT = re.compile(r"cache_size_limit|recompile[_ ]limit", re.IGNORECASE)


def count() -> ComplaintCounts:
    """What this process has on record.

    Costs a look at a few dictionaries and never imports torch.
    """
    found: ComplaintCounts = {
        "graph_breaks": 0,
        "recompiles": 0,
        "limit_hit": False,
        "failed": [],
    }
    utils = sys.modules.get("torch._dynamo.utils")
    if utils is None:
        return found
    with contextlib.suppress(Exception):
        found["graph_breaks"] = max(_broken(utils), len(getattr(utils, "graph_break_reasons", ())))
        texts = utils.counters.get("unimplemented", {})
        found["limit_hit"] = any(_LIMIT.search(text) for text in texts)
        for code, reasons in list(utils.guard_failures.items()):
            entries = [_entry(str(reason)) for reason in reasons]
            # the attempt that hits the limit notes its reasons too, and compiles nothing
            found["recompiles"] += min(_times([name for name, _ in entries]), _limit() - 1)
            for guard in dict.fromkeys(guard for _, guard in entries):
                if len(found["failed"]) < _MAX_LISTED:
                    found["failed"].append(
                        {
                            "guard": guard,
                            "function": code.co_name,
                            "file": code.co_filename,
                            "line": code.co_firstlineno,
                        }
                    )
    return found


def _limit() -> int:
    """How many compiles of one function torch allows; what the setting is called depends on the
    release.
    """
    config = sys.modules.get("torch._dynamo.config")
    names = ("recompile_limit", "cache_size_limit")
    return int(next((getattr(config, name) for name in names if hasattr(config, name)), 1 << 30))


def _broken(utils: Any) -> int:
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


def _entry(reason: str) -> Tuple[str, str]:
    """(id of the earlier compile that did not fit, its failed guard in one line); 2.0 gives no
    ids.
    """
    match = re.match(r"(\[?\d+/\d+\]?): (.*)", reason, re.DOTALL)
    name, guard = match.groups() if match else ("", reason)
    line = next((line.strip() for line in guard.splitlines() if line.strip()), "")
    return name, line.split("  # ")[0].strip()[:_MAX_TEXT]


def _times(names: List[str]) -> int:
    """How often a function was compiled again: each time every earlier compile is named once."""
    return max((names.count(name) for name in set(names)), default=0)


def collect(call: Any, request: ComplaintsRequest) -> ComplaintsAnswer:
    """Compiles afresh in this (forked) process, replays the history and the call, and reports what
    Dynamo met.
    """
    import torch

    from ..call import context, rungs
    from .observer import Observer, sequence

    rungs.quiet_compile_workers()
    observer = Observer().install()
    partial = _without_fullgraph(call)
    calls = sequence(call)
    raised = None
    with context.apply_state(call.state):
        function = rungs.compile_with(partial, {"backend": request.get("backend")})
        rng = torch.get_rng_state()
        for index, (args, kwargs) in enumerate(calls):
            observer.call = index
            if index == len(calls) - 1:
                torch.set_rng_state(rng)
            try:
                function(*args, **kwargs)
                raised = None
            except Exception as error:
                raised = type(error).__name__
    return {
        "outcome": "ok",
        "raised": raised,
        "complaints": {
            "graphs": len(observer.graphs),
            "graph_breaks": breaks(observer),
            "recompiles": _recompiles(observer, call),
            "limit": int(call.options.get("recompile_limit") or _limit()),
            "limit_hit": observer.limit_hit,
        },
    }


def _without_fullgraph(call: Any) -> Any:
    import copy

    partial = copy.copy(call)
    partial.options = {key: value for key, value in call.options.items() if key != "fullgraph"}
    return partial


def breaks(observer: Any) -> List[BreakRecord]:
    """Each place where tracing stopped, once, with how often it did."""
    found: Dict[Tuple[Any, ...], BreakRecord] = {}
    for item in observer.breaks:
        reason = _headline(item.reason)
        file, line, function = item.place
        entry = found.setdefault(
            (reason, file, line),
            {
                "reason": reason,
                "public": own_words(reason),
                "explanation": _explanation(item.reason),
                "file": file,
                "line": line,
                "function": function,
                "whole": item.whole,
                "count": 0,
            },
        )
        entry["count"] += 1
    return list(found.values())[:_MAX_LISTED]


def _explanation(reason: str) -> str:
    """What newer releases say under the headline, in one line; it may quote the program."""
    match = re.search(r"^\s*Explanation: (.*)", reason, re.MULTILINE)
    return match.group(1).strip()[:_MAX_TEXT] if match else ""


def _headline(reason: str) -> str:
    return next((line.strip() for line in reason.splitlines() if line.strip()), "")[:_MAX_TEXT]


def _recompiles(observer: Any, call: Any) -> List[RecompileRecord]:
    from . import guard_words
    from .observer import code_place

    found: List[RecompileRecord] = []
    for made in observer.compiles:
        if not made.reasons or made.limited:
            continue
        guard = _entry(made.reasons[0])[1]
        public, cut = guard_words.publish(guard, guard_words.labels_in(made.code, call))
        file, line, function = code_place(made.code)
        found.append(
            {
                "call": made.call + 1,
                "guard": guard,
                "public": public + ("…" if cut else ""),
                "file": file,
                "line": line,
                "function": function,
            }
        )
    return found[: 4 * _MAX_LISTED]


def own_words(reason: str) -> str:
    """The longest start of a reason that is torch's own: written so in Dynamo's source, then names
    of torch and Python.
    """
    source = _dynamo_source()
    words = reason.strip("'\"").split(" ")
    for count in range(len(words), 0, -1):
        start = " ".join(words[:count]).rstrip(" :.")
        if len(start) > 3 and re.search("[\"'`]+" + re.escape(start) + r"(?!\w)", source):
            break
    else:
        count, start = 0, ""
    for word in words[count:]:
        if not _known(word, source):
            break
        start = (start + " " + word).strip()
    return start


def _known(word: str, source: str) -> bool:
    """Whether a word is a builtin's name, a method of Tensor, or one of Dynamo's variables around
    such a name.
    """
    import torch

    if hasattr(builtins, word):
        return True
    owner, _, name = word.partition(".")
    if owner == "Tensor" and name:
        return hasattr(torch.Tensor, name)
    match = re.fullmatch(r"(\w+Variable)\((\w*)\)", word)
    return bool(
        match
        and "class {}(".format(match.group(1)) in source
        and (not match.group(2) or hasattr(builtins, match.group(2)))
    )


@functools.lru_cache(maxsize=1)
def _dynamo_source() -> str:
    import torch

    folder = os.path.join(os.path.dirname(str(torch.__file__)), "_dynamo")
    texts = []
    for pattern in ("*.py", os.path.join("variables", "*.py")):
        for path in sorted(glob.glob(os.path.join(folder, pattern))):
            with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as f:
                texts.append(f.read())
    return "\n".join(texts)
