"""What failure an issue states, and whether a run showed that one: exception class and a
distinctive part of the message.

"Same" is claimed only where signs speak for it. Where the issue says too little to compare, that
is the answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from reporter.core.kinds import Word, assert_never
from reporter.core.signature import normalize
from reporter.triage.reading.blocks import parse_blocks, read_prose
from reporter.triage.reading.thread import Thread


class StatedSymptom(Word):
    """What goes wrong, by the words of an issue."""

    #: An exception is raised.
    RAISES = "raises"
    #: Values or properties are wrong, or an invalid program is accepted.
    WRONG = "wrong"
    #: The process ends.
    DIES = "dies"
    #: It does not end.
    HANGS = "hangs"
    #: The issue says nothing that could be compared.
    UNKNOWN = "unknown"


class Match(Word):
    """Whether a run failed as the issue states."""

    SAME = "same"
    DIFFERENT = "different"
    #: The issue does not say enough to compare.
    UNCLEAR = "unclear"


_LINE = re.compile(
    r"^(?:E\s{1,8})?(?P<name>(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*(?:Error|Exception|Failed|Failure"
    r"|Unsupported|Interrupt|Violation\w*|Limit\w*|Exit)|Unsupported|UserError))"
    r"(?:: ?(?P<message>.*))?$"
)
#: The same within a sentence or a title.
_INLINE = re.compile(
    r"(?<![\w.])(?P<name>(?:[A-Za-z_]\w*\.){0,6}(?:[A-Z]\w{0,60}(?:Error|Exception|Failed)"
    r"|Unsupported))\b[`'\"]?:"
    r" ?(?P<message>[^`\n]{4,300})"
)
#: What torchrun writes in front of each line of a process.
_RANK = re.compile(r"^(?:\[(?:rank|default)\d+\]: ?)+", re.MULTILINE)
#: Where a log says that the exception was raised.
_FRAME = re.compile(r"^\s*File (?:\"(?P<path>[^\"]+)\", line \d+|(?P<cell>\S+?):\d+), in ")
_OF_TORCH = re.compile(r"(?:^|/)torch/(?!testing/|_dynamo/testing|_dynamo/utils)|torchinductor_")
_COMPILED = re.compile(r"\.(?:cpp|h|hpp|cxx|cc):\d+:\d+: (?P<message>(?:fatal )?error: .*)")
#: What a shell, the kernel or faulthandler says of a signal, or a person of the process; `abort`
#: alone is the name of many a thing, and people say it of exceptions.
_DIES = re.compile(
    r"""
    \bsegmentation[ ]fault | \bsegfault | \bSIG(?:SEGV|ABRT|FPE|ILL|BUS)\b | core[ ]dumped
    | floating[ ]point[ ]exception | \bFatal[ ]Python[ ]error:
    | \bcrashes[ ]the[ ](?:process|interpreter) | process[ ](?:dies|is[ ]killed|crashes)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_HANGS = re.compile(
    r"\bhangs?\b|\bdeadlocks?\b|never (?:returns|finishes|ends)|infinite loop|\bstuck\b",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"""
    \b(?:
    wrong | incorrect | different | differs? | inconsistent | mismatch\w* | diverg\w+ | inaccura\w+
    | silent\w* | not[ ](?:close|equal|match\w*) | discrepan\w+ | unequal | accuracy | NaNs?
    | garbage | corrupt\w* | miscompil\w* | out[- ]of[- ]bounds?[ ](?:read|write|access)\w*
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ACCEPTS = re.compile(
    r"""
    \b(?:
    accepts? | does(?:[ ]not|n't)[ ]raise | no[ ]error | without[ ](?:an[ ])?error
    | should[ ](?:raise|fail|throw) | passes[ ]silently | silently[ ](?:passes|succeeds|runs)
    | (?:instead|rather[ ]than)[ ]of[ ]raising | rather[ ]than[ ]raising
    | (?:skips?|bypass\w*|lacks|loses|missing)[ ](?:\w\S*[ ]){0,6}?(?:checks?|validation)
    | eager[ ](?:mode[ ])?(?:correctly[ ])?(?:rejects|raises)
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_VERSION = re.compile(
    r"""
    ^[ \t]* (?:\[pip3?\][ \t]*)? (?:PyTorch[ ]version|torch)
    [ \t]* (?::|==) [ \t]* v?(?P<version>\d+\.\d+(?:\.\d+)?\S*)
    """,
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
_SPOKEN = re.compile(
    r"\b(?:py)?torch(?: version)?:?(?: nightly)? ?`?v?(\d+\.\d+\.\d+[\w.+]*)", re.IGNORECASE
)
#: The part of a form that describes the machine, and lines that only torch's collect_env writes.
_ENVIRONMENT = re.compile(r"(?:versions?|environment)\b")
_COLLECTED = re.compile(
    r"""
    ^[ \t]* (?:
    Collecting[ ]environment[ ]information | Is[ ]debug[ ]build: | Vulnerabilit(?:y|ies)\b
    | Versions[ ]of[ ]relevant[ ]libraries: | \[(?:pip3?|conda)\][ ]
    )
    """,
    re.MULTILINE | re.VERBOSE,
)
#: Messages that only name classes: what is said may stand on the next line.
_CLASSES = re.compile(r"(?:[\w.]+(?:Error|Exception)(?:: ?| |$))*")
#: These, and messages that every failure of a compiler backend begins with.
_SAYS_NOTHING = re.compile(
    r"^(?:backend='?\w+'? raised:?|from user code:?|(?:CppCompileError: )?C\+\+ compile"
    rf" error|{_CLASSES.pattern}|.{{0,3}})$"
)
#: An exception that another one was raised from stands in front of its words, and an author's
#: remark behind them.
_WRAPPED = re.compile(
    r"^(?:[\w.]*(?:Error|Exception|Failed|Unsupported): )+| \([^()]*#\d+[^()]*\)$"
)
_ALIKE = 0.6
_COMPILER_LOG = 80  # lines
_LONGEST_LINE = 2000  # a pattern over a longer one could take minutes
_SHORTEST = 12


@dataclass(frozen=True)
class StatedException:
    """One exception of a log: the last part of its class, and the line behind it.

    `by_torch`: the frame above it is torch's.
    """

    name: str
    message: str
    by_torch: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class StatedFailure:
    """What the issue says goes wrong.

    `raised` are the exceptions of its logs, the outermost last; `accepts`: that the compiled call
    takes what eager refuses.
    """

    sort: StatedSymptom
    raised: tuple[StatedException, ...] = ()
    torch: str | None = None
    accepts: bool = False

    def describe(self) -> str:
        """For people, on one line."""
        match self.sort:
            case StatedSymptom.RAISES:
                last = pick_exception(self.raised) or self.raised[-1]
                return f"{last.name}: {last.message}" if last.message else last.name
            case StatedSymptom.WRONG:
                return "wrong values or properties"
            case StatedSymptom.DIES:
                return "the process dies"
            case StatedSymptom.HANGS:
                return "it hangs"
            case StatedSymptom.UNKNOWN:
                return "nothing that could be compared"
        assert_never(self.sort)


def read_stated(thread: Thread) -> StatedFailure:
    """Reads title, prose and logs of the author."""
    logs, said = _read_logs(thread), _read_author_words(thread)
    torch = _find_version(thread.own_text)
    accepts = _ACCEPTS.search(said) is not None
    logged = find_exceptions(logs)
    raised = logged or find_exceptions(said)
    if not raised and not accepts:
        raised = _inline(thread.title) or _inline(said)
    informative = _list_informative(raised, thread.title)
    dies = _DIES.search(said) or _DIES.search(logs)
    # a process that a signal ends leaves no traceback
    if informative and not accepts and (logged or not dies):
        return StatedFailure(StatedSymptom.RAISES, raised, torch)
    if dies:
        return StatedFailure(StatedSymptom.DIES, raised, torch)
    if _HANGS.search(said):
        return StatedFailure(StatedSymptom.HANGS, raised, torch)
    if raised or accepts or _WRONG.search(said):
        return StatedFailure(StatedSymptom.WRONG, raised, torch, accepts)
    return StatedFailure(StatedSymptom.UNKNOWN, raised, torch)


def _list_informative(raised: tuple[StatedException, ...], title: str) -> list[StatedException]:
    """Those that are no failing assertion of a program, but for one that the title names."""
    titled = {(item.name, item.message[:20]) for item in _inline(title)}
    return [
        item
        for item in raised
        if not _is_assertion(item) or (item.name, item.message[:20]) in titled
    ]


def _read_logs(thread: Thread) -> str:
    """The author's blocks of code and logs."""
    return "\n".join(
        _leave_out_environment(block.text, block.section)
        for post in thread.posts
        if post.author == thread.author
        for block in parse_blocks(post.text)
    )


def _read_author_words(thread: Thread) -> str:
    """What the author says, without code: title and prose."""
    prose = (
        _leave_out_environment(*paragraph)
        for post in thread.posts
        if post.author == thread.author
        for paragraph in read_prose(post.text)
    )
    return "\n".join([thread.title, *prose])


def _leave_out_environment(text: str, section: str) -> str:
    """A block or paragraph up to where it describes the machine: the words of that description,
    such as `Vulnerability Tsx async abort`, state no failure.
    """
    if _ENVIRONMENT.match(section):
        return ""
    collected = _COLLECTED.search(text)
    return text[: collected.start()] if collected else text


def _find_version(text: str) -> str | None:
    """The torch that the form names; else the only one that the text speaks of."""
    found = _VERSION.search(text)
    if found is not None:
        return found["version"].rstrip(",.)`")
    spoken = {item.rstrip(".") for item in _SPOKEN.findall(text)}
    return spoken.pop() if len(spoken) == 1 else None


def _inline(text: str) -> tuple[StatedException, ...]:
    """Exceptions that a sentence names with their message."""
    found = (
        StatedException(match["name"].rpartition(".")[2], match["message"].strip(" .*"))
        for line in text.split("\n")
        if len(line) <= _LONGEST_LINE
        for match in _INLINE.finditer(line)
    )
    return tuple(dict.fromkeys(found))


def find_exceptions(text: str) -> tuple[StatedException, ...]:
    """The exceptions of a log or of a stream, in their order, each once."""
    found: dict[StatedException, None] = {}
    text = _RANK.sub("", text)
    lines = text.split("\n")
    by_torch = False
    for number, line in enumerate(lines):
        if len(line) > _LONGEST_LINE:
            continue
        frame = _FRAME.match(line)
        if frame is not None:
            by_torch = _OF_TORCH.search(frame["path"] or frame["cell"]) is not None
        match = _LINE.match(line.rstrip())
        if match is None:
            continue
        message = (match["message"] or "").strip()
        if match["name"].endswith("CppCompileError"):
            message = _find_compilers_words(lines[number + 1 : number + _COMPILER_LOG]) or message
        if match["message"] is not None and _CLASSES.fullmatch(message):
            message = " ".join([message, *lines[number + 1 : number + 2]]).strip()
        found[StatedException(match["name"].rpartition(".")[2], message[:300], by_torch)] = None
    if not found:
        cut_off = _COMPILED.search(text)  # the end of a log that begins in the middle
        if cut_off is not None:
            found[StatedException("CppCompileError", cut_off["message"][:300])] = None
    return tuple(found)


def _find_compilers_words(lines: list[str]) -> str:
    """What the C++ compiler complained of first."""
    found = (re.search(r"\b(?:fatal )?error: .*", line) for line in lines)
    return next((item.group() for item in found if item), "")


def pick_exception(raised: tuple[StatedException, ...]) -> StatedException | None:
    """The exception that tells most: the outermost that has a message of its own."""
    return next((item for item in reversed(raised) if not _SAYS_NOTHING.match(item.message)), None)


def compare(wanted: StatedFailure, signal: str | None, timed_out: bool, stderr: str) -> Match:
    """Whether a run that failed failed as stated.

    Args:
        signal: the name of the signal that ended it, such as `SIGSEGV`; None: it ended by itself.
        timed_out: whether it was stopped at its time limit.
        stderr: the end of its standard error, in which the exceptions are found.

    Returns:
        `UNCLEAR` where the issue does not say enough to compare.
    """
    match wanted.sort:
        case StatedSymptom.DIES:
            return Match.SAME if signal else Match.DIFFERENT
        case StatedSymptom.HANGS:
            return Match.SAME if timed_out else Match.DIFFERENT
        case StatedSymptom.UNKNOWN:
            return Match.UNCLEAR
        case StatedSymptom.RAISES:
            ended = timed_out or signal
            return (
                Match.DIFFERENT
                if ended
                else _compare_raised(wanted.raised, find_exceptions(stderr))
            )
        case StatedSymptom.WRONG:
            if timed_out or signal:
                return Match.DIFFERENT
            seen = find_exceptions(stderr)
            if any(_is_assertion(item) for item in seen[-1:]):
                return Match.SAME
            return (
                _compare_raised(wanted.raised, seen) if wanted.raised and seen else Match.DIFFERENT
            )
    assert_never(wanted.sort)


def _compare_raised(
    wanted: tuple[StatedException, ...], seen: tuple[StatedException, ...]
) -> Match:
    if not seen:
        return Match.DIFFERENT
    informative = [item for item in wanted if not _SAYS_NOTHING.match(item.message)]
    for item in informative:
        if any(
            item.name == other.name and _are_alike(item.message, other.message) for other in seen
        ):
            return Match.SAME
        # releases wrap an exception in another class, but its words stay
        if any(
            _are_alike(item.message, other.message) and len(item.message) > 2 * _SHORTEST
            for other in seen
        ):
            return Match.SAME
    if not informative:
        name = wanted[-1].name
        return (
            Match.UNCLEAR
            if any(name in (s.name, s.message[: len(name)]) for s in seen)
            else Match.DIFFERENT
        )
    return Match.DIFFERENT


def _are_alike(wanted: str, seen: str) -> bool:
    first, second = (normalize(_WRAPPED.sub("", text)) for text in (wanted, seen))
    if not first or not second:
        return False
    if first == second:
        return True
    shorter, longer = sorted((first, second), key=len)
    if len(shorter) >= _SHORTEST and shorter in longer:
        return True
    words = [set(re.findall(r"[A-Za-z_]{3,}", text)) for text in (first, second)]
    both, either = words[0] & words[1], words[0] | words[1]
    return len(both) >= 3 and len(both) >= _ALIKE * len(either)


def _is_assertion(item: StatedException) -> bool:
    """Whether it is the failing assertion of a program, which says that values are wrong and not
    that something broke.
    """
    return item.name == "AssertionError" and not item.by_torch
