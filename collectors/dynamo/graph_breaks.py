"""What slows a compiled program down without breaking it: graph breaks, recompiles, the recompile
limit.

The script's own process only keeps count (`counters`). The details are found in a fork, which
compiles afresh and calls again with the shapes seen before — without `fullgraph`, which stops at
the first break instead of finding all of them.
"""

from __future__ import annotations

import builtins
import contextlib
import copy
import functools
import glob
import os
import re
from dataclasses import replace
from typing import Any, Dict, List, Tuple

import torch

from ..call import context, rungs
from ..machine.random_state import RandomState
from ..protocol.compilation import (
    BreakRecord,
    GraphBreaksAnswer,
    GraphBreaksRequest,
    RecompileRecord,
)
from ..protocol.words import CallOutcome
from . import guard_words
from .counters import MOST_LISTED, MOST_TEXT, read_recompile_limit, split_reason
from .observer import Observer, list_call_arguments, read_code_place


def collect(call: Any, request: GraphBreaksRequest) -> GraphBreaksAnswer:
    """Compiles afresh in this (forked) process, replays the history and the call, and reports what
    Dynamo met.
    """
    rungs.quiet_compile_workers()
    observer = Observer().install()
    partial = _without_fullgraph(call)
    calls = list_call_arguments(call)
    raised = None
    with context.apply_state(call.conditions.state):
        function = rungs.compile_with(partial, {"backend": request.get("backend")})
        state = RandomState.read(call.conditions.random)
        for index, (args, kwargs) in enumerate(calls):
            observer.call = index
            if index == len(calls) - 1:
                state.restore()
            try:
                function(*args, **kwargs)
                raised = None
            except Exception as error:  # the calls are the program's code
                raised = type(error).__name__
    return {
        "outcome": CallOutcome.OK,
        "raised": raised,
        "graph_breaks": {
            "graphs": len(observer.graphs),
            "graph_breaks": list_breaks(observer),
            "recompiles": _list_recompiles(observer, call),
            "limit": int(call.conditions.options.get("recompile_limit") or read_recompile_limit()),
            "limit_hit": observer.limit_hit,
        },
    }


def _without_fullgraph(call: Any) -> Any:
    given = call.conditions.options
    options = {key: value for key, value in given.items() if key != "fullgraph"}
    partial = copy.copy(call)
    partial.conditions = replace(call.conditions, options=options)
    return partial


def list_breaks(observer: Observer) -> List[BreakRecord]:
    """Each place where tracing stopped, once, with how often it did."""
    found: Dict[Tuple[Any, ...], BreakRecord] = {}
    for item in observer.breaks:
        reason = _read_headline(item.reason)
        file, line, function = item.location
        entry = found.setdefault(
            (reason, file, line),
            {
                "reason": reason,
                "public": _find_own_words(reason),
                "explanation": _read_explanation(item.reason),
                "file": file,
                "line": line,
                "function": function,
                "whole": item.whole,
                "count": 0,
            },
        )
        entry["count"] += 1
    return list(found.values())[:MOST_LISTED]


def _read_explanation(reason: str) -> str:
    """What newer releases say under the headline, in one line; it may quote the program."""
    match = re.search(r"^\s*Explanation: (.*)", reason, re.MULTILINE)
    return match.group(1).strip()[:MOST_TEXT] if match else ""


def _read_headline(reason: str) -> str:
    return next((line.strip() for line in reason.splitlines() if line.strip()), "")[:MOST_TEXT]


def _list_recompiles(observer: Observer, call: Any) -> List[RecompileRecord]:
    found: List[RecompileRecord] = []
    for made in observer.compiles:
        if not made.reasons or made.limited:
            continue
        guard = split_reason(made.reasons[0])[1]
        public, cut = guard_words.publish(guard, guard_words.label_frame(made.code, call))
        file, line, function = read_code_place(made.code)
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
    return found[: 4 * MOST_LISTED]


def _find_own_words(reason: str) -> str:
    """The longest start of a reason that is torch's own: written so in Dynamo's source, then names
    of torch and Python.
    """
    source = _read_dynamo_source()
    words = reason.strip("'\"").split(" ")
    for count in range(len(words), 0, -1):
        start = " ".join(words[:count]).rstrip(" :.")
        if len(start) > 3 and re.search("[\"'`]+" + re.escape(start) + r"(?!\w)", source):
            break
    else:
        count, start = 0, ""
    for word in words[count:]:
        if not _is_known(word, source):
            break
        start = (start + " " + word).strip()
    return start


def _is_known(word: str, source: str) -> bool:
    """Whether a word is a builtin's name, a method of Tensor, or one of Dynamo's variables around
    such a name.
    """
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
def _read_dynamo_source() -> str:
    folder = os.path.join(os.path.dirname(str(torch.__file__)), "_dynamo")
    texts = []
    for pattern in ("*.py", os.path.join("variables", "*.py")):
        for path in sorted(glob.glob(os.path.join(folder, pattern))):
            with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as f:
                texts.append(f.read())
    return "\n".join(texts)
