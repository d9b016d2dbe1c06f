"""Graph breaks and recompiles: no fault, but what makes a compiled program slow.

They are looked for only when the script's own process counted some; a fork of the latest call of
each compiled callable then repeats the calls and says where and why. Torch's own words are public,
the user's places are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from collectors.protocol.compilation import GraphBreaks
from collectors.protocol.words import CallOutcome
from reporter.core.kinds import Backend
from reporter.recording import questions
from reporter.recording.call_sessions import LastCall
from reporter.recording.findings import Recording
from reporter.report.sections.details import GraphBreakRow, GraphBreakSection, RecompileRow

#: Dynamo's short names of older releases, in words.
_IN_WORDS = {
    "generic_jump": "a branch depends on a tensor's value",
    "step_unsupported": "an unsupported statement",
    "store_attr": "an attribute is set",
    "call_function": "an unsupported call",
}


def describe(found: GraphBreakSection) -> str:
    """One sentence for the user, with the first place of each kind."""
    parts = []
    if found.graph_breaks:
        first = found.graph_breaks[0]
        where = f"line {first.line} of {Path(first.file).name}, in `{first.function}`"
        number = _write_count(len(found.graph_breaks), "graph break", "graph breaks")
        which = where if len(found.graph_breaks) == 1 else f"the first at {where}"
        leave = " (the function is not compiled at all)" if first.whole else ""
        parts.append(f"{number}, {which}: {_describe_break(first)}{leave}")
    elif found.broken:
        parts.append(_write_count(found.broken, "graph break", "graph breaks"))
    times = max(len(found.recompiles), found.recompiled)
    if times:
        text = f"recompiled {_write_count(times, 'time', 'times')}"
        if found.recompiles:
            usual = Counter(item.function for item in found.recompiles).most_common(1)[0][0]
            guards = [item.guard for item in found.recompiles if item.function == usual]
            text += f", most often `{usual}`; the first guard that failed: {guards[0]}"
        parts.append(text)
    if found.limit_hit:
        parts.append(
            f"the limit of {found.limit} recompiles was hit, so the function runs uncompiled"
            " from then on"
        )
    return "; ".join(parts)


def _write_count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _describe_break(item: GraphBreakRow) -> str:
    known = next((text for name, text in _IN_WORDS.items() if item.reason.startswith(name)), None)
    if known:
        return f"{known} ({item.reason})"
    return f"{item.reason} ({item.explanation.rstrip('.')})" if item.explanation else item.reason


def collect(recording: Recording, timeout: float) -> GraphBreakSection | None:
    """Asks the last call of each callable, if the script counted anything.

    Args:
        timeout: of each question, in seconds.

    Returns:
        None if there is nothing to complain about.
    """
    counted = recording.counts.dynamo
    if counted is None:
        return None
    broken, recompiled = counted["graph_breaks"], counted["recompiles"]
    hit = counted["limit_hit"]
    if not (broken or recompiled or hit):
        return None
    answers = [answer for last in recording.last_calls if (answer := _ask(last, timeout))]
    breaks = _merge(GraphBreakRow(**item) for answer in answers for item in answer["graph_breaks"])
    recompiles = tuple(RecompileRow(**item) for answer in answers for item in answer["recompiles"])
    if not recompiles:
        recompiles = tuple(RecompileRow(call=0, **item) for item in counted["failed"])
    found = GraphBreakSection(
        graphs=sum(answer["graphs"] for answer in answers),
        graph_breaks=breaks,
        recompiles=recompiles,
        limit=max((answer["limit"] for answer in answers), default=0),
        limit_hit=hit or any(answer["limit_hit"] for answer in answers),
        broken=broken,
        recompiled=recompiled,
    )
    return found if breaks or recompiles or found.limit_hit or not answers else None


def _ask(last: LastCall, timeout: float) -> GraphBreaks | None:
    """Graph breaks and recompilations of one callable, with its own backend; with `eager`
    where that one does not come to an end.
    """
    answer = last.call_session.request(questions.find_graph_breaks(), timeout)
    if answer["outcome"] != CallOutcome.OK or answer.get("raised"):
        again = last.call_session.request(questions.find_graph_breaks(Backend.EAGER.value), timeout)
        if again["outcome"] == CallOutcome.OK:
            answer = again
    return answer.get("graph_breaks")


def _merge(breaks: Iterable[GraphBreakRow]) -> tuple[GraphBreakRow, ...]:
    """Breaks at one place, met through several callables, as one."""
    found: dict[tuple[str, str, int], GraphBreakRow] = {}
    for item in breaks:
        key = (item.reason, item.file, item.line)
        count = item.count + (found[key].count if key in found else 0)
        found[key] = replace(item, count=count)
    return tuple(found.values())
