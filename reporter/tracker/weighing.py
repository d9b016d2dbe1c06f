"""How much speaks for two issues being one bug: the words of an error say most, then the operators
that few programs have.

The weights were fitted to issues of pytorch/pytorch whose maintainers or authors said which are the
same (docs/measurements.md, "Duplicates"; `tests/support/github/weighing.py` has the rows). What is
everywhere counts little: wrappers that every failure is raised in, messages of plain Python,
operators that are in every second program.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from reporter.core.kinds import CRASHES, Kind, Layer
from reporter.core.signature import normalize
from reporter.tracker.failure_facts import ReportedFailure

#: From here on a candidate is called likely.
LIKELY = 0.6
_MOST = 0.9


@dataclass(frozen=True)
class Weights:
    """What each sign of the same bug adds, and what a failure of another sort leaves of them."""

    message: float = 0.45
    plain_message: float = 0.2
    words: float = 0.25
    frame: float = 0.45
    exception: float = 0.05
    operators: float = 0.5
    one_operator: float = 0.35
    title: float = 0.2
    sort: float = 0.1
    label: float = 0.05
    signal: float = 0.1
    other_sort: float = 0.5
    silent_crash: float = 0.7
    other_message: float = 0.6


WEIGHTS = Weights()
_KEY = re.compile(r"<!-- bugreport-fingerprint: (v\d+:[0-9a-f]{16}) -->")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{3,}")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|‘[^’]*’")
_SHORTEST = 12
#: Operators of nearly every program, and attributes that are none.
_EVERYDAY = frozenset(
    """torch.compile torch.nn.Module torch.Tensor torch.tensor torch.randn torch.rand torch.ones
    torch.zeros torch.manual_seed torch.empty torch.full torch.arange view reshape add mul sub to
    float getitem setitem contiguous torch.add torch.sub torch.mul torch.div torch.int32 torch.int64
    torch.float32 torch.float64 torch.bool""".split()
)
#: Operators that many programs have, and those that are one like the other to a compiler.
_FREQUENT = frozenset(
    """t min max sum mean cat stack clone detach transpose permute unsqueeze squeeze expand flatten
    div truediv neg abs exp log sqrt rsqrt sin cos tan sinh cosh tanh sigmoid relu gelu silu softmax
    matmul mm bmm linear where ge gt le lt eq ne and_ or_ item chunk split masked_fill uint8 int8
    int16 float16 bfloat16""".split()
)
_FREQUENT_WEIGHT = 0.3
#: Operators that are lowered by the same code; one in place of the other is nearly the same
#: program.
_ALIKE = [
    frozenset(group.split())
    for group in (
        "argmax argmin",
        "amax amin aminmax",
        "cummax cummin",
        "cumsum cumprod logcumsumexp",
        "remainder fmod floor_divide mod floordiv",
        "byte uint8",
        "index_add index_copy index_fill index_reduce",
    )
]
_ALIKE_WEIGHT = 0.7
#: What Python itself says of any mistake: the same words, another bug.
_PLAIN_MESSAGE = re.compile(
    r"^(?:\w+(?:Error|Exception): )*(?:(?:list|tuple|string)? ?index out of range|division by"
    r" zero|integer division or modulo by zero|"
    r"N|expected size .* stride .*|unhashable type.*|'?\w*'? object is not"
    r" (?:callable|iterable|subscriptable)|C\+\+ compile error)?\W*$"
)
_WRAPPERS = re.compile(r"^(?:\w+(?:Error|Exception|Failed): )+")

_SIGNALS = {
    "SIGFPE": re.compile(r"SIGFPE|floating point exception", re.IGNORECASE),
    "SIGSEGV": re.compile(r"SIGSEGV|seg(?:mentation )?fault", re.IGNORECASE),
    "SIGABRT": re.compile(r"SIGABRT|\babort", re.IGNORECASE),
    "SIGILL": re.compile(r"SIGILL|illegal instruction", re.IGNORECASE),
    "SIGBUS": re.compile(r"SIGBUS|bus error", re.IGNORECASE),
}
_DEATH = re.compile("|".join(pattern.pattern for pattern in _SIGNALS.values()), re.IGNORECASE)
_RAISED = re.compile(
    r"\b(?:CppCompileError|InductorError|LoweringException|BackendCompilerFailed"
    r"|TorchRuntimeError|InternalTorchDynamoError)\b|^(?:[\w.]+\.)?(?:exc\.)?Unsupported:",
    re.MULTILINE,
)


def weigh(
    failure: ReportedFailure,
    title: str,
    body: str,
    labels: Iterable[str],
    weights: Weights = WEIGHTS,
) -> tuple[float, list[str]]:
    """How much speaks for an issue being the same bug, between 0 and 1, and what.

    Args:
        title, body, labels: of the issue, as plain text.
        weights: how much each part counts; the default was fitted to real duplicates (see above).
    """
    if f"<!-- {failure.marker} -->" in body:
        return 1.0, ["it is this report"]
    mark = _KEY.search(body)
    if mark and mark.group(1) == failure.stored.fingerprint:
        return 0.95, [
            "a report of the same failure: layer, exception and torch frames or operators agree"
        ]
    text = f"{title}\n{body}"
    said = _weigh_message(failure, text, weights)
    parts = [
        said,
        _weigh_frames(failure, text, said[0] > weights.words, weights),
        _weigh_operators(failure, title, text, weights),
        _weigh_labels(failure, title, labels, weights),
    ]
    score = sum(part for part, _ in parts)
    reasons = [reason for part, reason in parts if part and reason]
    if score > 0:
        factor, more, reason = _weigh_sort(failure, text, said[0] > 0, weights)
        score = score * factor + more
        reasons += [reason] if reason else []
    return min(score, _MOST), reasons


def _weigh_message(failure: ReportedFailure, text: str, weights: Weights) -> tuple[float, str]:
    """The line of the message as it is, or most of its words."""
    message = _find_line(failure)
    if not name_exception(failure) or not message:
        return 0.0, ""
    plain = _PLAIN_MESSAGE.match(message) is not None
    if any(message in line for line in _normalize_lines(text)):
        return (weights.plain_message if plain else weights.message), "the error message"
    wanted = find_message_words(failure)
    if plain or len(wanted) < 3:
        return 0.0, ""
    spoken = {word.lower() for word in _WORD.findall(text)}
    share = sum(word.lower() in spoken for word in wanted) / len(wanted)
    return (weights.words * share, "the words of the error message") if share >= 0.7 else (0.0, "")


@functools.lru_cache(maxsize=128)
def _normalize_lines(text: str) -> tuple[str, ...]:
    return tuple(normalize(line[:2000]) for line in text.split("\n") if line.strip())


def _weigh_frames(
    failure: ReportedFailure, text: str, is_said: bool, weights: Weights
) -> tuple[float, str]:
    """The place in torch. It counts with the exception or the message beside it."""
    exception = name_exception(failure)
    if not exception:
        return 0.0, ""
    is_raised = re.search(rf"\b{re.escape(exception)}\b", text) is not None
    innermost = next(
        (part for part in failure.facts.parts if re.match(r"torch/.*:\w+$", part)), None
    )
    if innermost is not None and (is_raised or is_said):
        file, _, function = innermost.rpartition(":")
        if re.search(rf'{re.escape(file)}", line \d+, in {re.escape(function)}\b', text):
            return weights.frame + weights.exception, f"`{exception}` in {innermost}"
        if re.search(rf"\b{re.escape(function)}\b", text) and len(function) > _SHORTEST:
            return weights.frame / 2, f"`{exception}` in {function}"
    return (weights.exception, f"`{exception}`") if is_raised else (0.0, "")


def _weigh_operators(
    failure: ReportedFailure, title: str, text: str, weights: Weights
) -> tuple[float, str]:
    """Operators that few programs have, each in the text; the more of them agree, the more it
    says.
    """
    wanted = list_rare_operators(failure)
    there = {name: found for name in wanted if (found := _weigh_presence(strip_module(name), text))}
    if not there:
        return 0.0, ""
    whole = sum(_weigh_rarity(strip_module(name)) for name in wanted)
    agree = sum(_weigh_rarity(strip_module(name)) * found for name, found in there.items())
    rare = sum(found for name, found in there.items() if _weigh_rarity(strip_module(name)) == 1.0)
    score = (weights.operators if rare > 1 else weights.one_operator) * agree / whole
    if any(
        _weigh_presence(strip_module(name), title) and _weigh_rarity(strip_module(name)) == 1.0
        for name in there
    ):
        score += weights.title
    return score, "the operators " + ", ".join(strip_module(name) for name in list(there)[:4])


def _weigh_presence(name: str, text: str) -> float:
    """1 where a text has the operator, less where it has one that is lowered alike, 0 where it has
    none of them.
    """
    base = name.rstrip("_")
    group: frozenset[str] = next((group for group in _ALIKE if base in group), frozenset())
    for word, worth in ((base, 1.0), *((other, _ALIKE_WEIGHT) for other in sorted(group))):
        # a short word is an operator only where it is called
        pattern = (
            rf"\.{word}_?\(" if len(word) <= 4 else rf"(?<![A-Za-z0-9_]){word}_?(?![A-Za-z0-9_])"
        )
        if re.search(pattern, text):
            return worth
    return 0.0


def _weigh_rarity(name: str) -> float:
    return _FREQUENT_WEIGHT if name.rstrip("_") in _FREQUENT else 1.0


def _weigh_labels(
    failure: ReportedFailure, title: str, labels: Iterable[str], weights: Weights
) -> tuple[float, str]:
    own = {label.lower() for label in failure.labels if ":" in label}
    shared = sorted(set(map(str.lower, labels)) & own)
    if shared:
        return weights.label * min(2, len(shared)), "the labels " + ", ".join(shared)
    layer = failure.stored.layer
    if layer not in (None, Layer.NONE) and layer in title.lower():
        return weights.label, f"{layer} in the title"
    return 0.0, ""


def _weigh_sort(
    failure: ReportedFailure, text: str, is_said: bool, weights: Weights
) -> tuple[float, float, str]:
    """What another sort of failure leaves of the score, and what the same sort adds."""
    kind = failure.stored.kind
    dies, raises = _find_failures(text)
    if kind == Kind.PROCESS_DEATH:
        pattern = _SIGNALS.get(name_exception(failure))
        if pattern is not None and pattern.search(text):
            return 1.0, weights.sort + weights.signal, "the way the process dies"
        return (1.0, weights.sort, "") if dies else (weights.other_sort, 0.0, "")
    if kind in CRASHES:
        if dies and not raises:
            return weights.other_sort, 0.0, ""
        if name_exception(failure) not in text:
            return (1.0 if is_said else weights.silent_crash), 0.0, ""
        # the issue shows such an exception, but with other words
        return (1.0 if is_said or not _find_line(failure) else weights.other_message), 0.0, ""
    if dies or raises:
        return weights.other_sort, 0.0, ""
    return 1.0, weights.sort, ""


@functools.lru_cache(maxsize=128)
def _find_failures(text: str) -> tuple[bool, bool]:
    """Whether a process dies in a text, and whether a compiler's exception is raised in it."""
    return _DEATH.search(text) is not None, _RAISED.search(text) is not None


def name_exception(failure: ReportedFailure) -> str:
    """The class of the exception, without its module, or the signal; empty where there was
    neither.
    """
    return failure.facts.exception.rpartition(".")[2]


def find_message_words(failure: ReportedFailure) -> list[str]:
    """The words of the message that do not change from program to program, without repetition:
    quoted ones may be the program's own.
    """
    if not name_exception(failure):
        return []
    message = failure.facts.message
    # what a C++ compiler quotes is the compiler's
    for text in (message if "error: " in message else _QUOTED.sub(" ", message), message):
        words = [word for word in _WORD.findall(text) if not re.search(r"\d", word)]
        if len(words) >= 3:
            break
    return list(dict.fromkeys(words))[:10]


def list_rare_operators(failure: ReportedFailure) -> list[str]:
    """The operators of the reduced program that not every program has."""
    return [name for name in failure.facts.operators if name not in _EVERYDAY]


def strip_module(name: str) -> str:
    """`torch.nn.functional.embedding` is `embedding`."""
    return name.rpartition(".")[2]


def _find_line(failure: ReportedFailure) -> str:
    """The line of the message that tells something, normalized and without the exceptions around
    it; or nothing.
    """
    lines = (_WRAPPERS.sub("", normalize(part)) for part in failure.facts.message.split(" | "))
    return next((line for line in lines if len(line) >= _SHORTEST), "")
