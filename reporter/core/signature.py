"""When two failures are the same bug (version 1).

A crash is known by the class of its diagnosis, the normalized key line of its message and the
innermost torch frame; a wrong value by its kind and by standing out against what float64 shows
eager to achieve. Nothing of the user's program is part of it: paths, numbers, generated names and
user frames are normalized away.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from collectors.protocol.failure import Failure
from collectors.protocol.repro_words import FARTHER_THAN_EAGER, Property
from reporter.core.json_values import Json
from reporter.core.kinds import SILENT, WRONG_VALUES, Kind, Layer, assert_never

VERSION = 1
_FRAMES = 6
#: The frames of every call of a module (`torch.nn.Module`).
_MODULE_CALL = frozenset(
    f"torch/nn/modules/module.py:{name}" for name in ("_wrapped_call_impl", "_call_impl")
)
#: How many of the words of two refusals agree, where they are of one thing.
_SAME_REFUSAL = 0.8

_NORMAL: tuple[tuple[str, str], ...] = (
    (r"0x[0-9a-fA-F]+", "ADDR"),
    (r"(maximum recursion depth exceeded).*", r"\1"),
    (r"(/[^\s'\":,()]+)+/?", "PATH"),
    (r"\b(?:buf|tmp|arg|primals|tangents|getitem|s|u|x|y|z|v|i|r)_?\d+(?:_\d+)*\b", "VAR"),
    (r"\b[a-z_]+_\d+\b", "VAR"),
    (r"‘[^’]*’|'[^']*'|\"[^\"]*\"|`[^`]*`", "QUOTED"),
    (r"\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b", "N"),
    (r"(?:N(?:, ?|x))+N", "N"),
    (r"\s+", " "),
)

#: `RuntimeError when making fake tensor call`, and in its explanation, behind the call and its
#: tensors, which take lines of their own under a transform, what raised it.
_FAKE_CALL = re.compile(
    r"^(?P<heading>\w+ when making fake tensor call)\n\s+Explanation: [\s\S]*?: got \w+\("
    r"(?P<quote>['\"])(?P<said>.*)(?P=quote)\)$",
    re.MULTILINE,
)


#: The innermost line of a traceback, where that is a statement that raises.
_RAISED = re.compile(r"^ +File [^\n]*\n +(?:raise|assert)\b[^\n]*(?:\n +[~^ ]+)?\n\S", re.MULTILINE)


@dataclass(frozen=True)
class Signature:
    """The identity of a failure; `frames` are torch's, innermost first, without line numbers.

    Documents have it as a `FailureSection`, which holds them to their schema.
    `undefined` is what the program has in it that torch leaves undefined ("casts", "writes"), or to
    chance ("draws"), beside the failure. `property` is a `Property`, or another that torch's own
    assertion names.
    """

    kind: Kind
    layer: Layer | None = None
    exception: str | None = None
    message: str | None = None
    frames: tuple[str, ...] = ()
    property: str | None = None
    signal: str | None = None
    error_ratio: float | None = None
    undefined: tuple[str, ...] = ()
    version: int = VERSION

    def to_json(self) -> Json:
        """A JSON-able dictionary with every field."""
        return {
            **asdict(self),
            "kind": str(self.kind),
            "layer": str(self.layer) if self.layer is not None else None,
            "property": str(self.property) if self.property is not None else None,
            "frames": list(self.frames),
            "undefined": list(self.undefined),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Signature:
        """Reads what `to_json` gave.

        Raises:
            TypeError, ValueError: it is anything else.
        """
        lists = {name: tuple(data.get(name) or ()) for name in ("frames", "undefined")}
        layer = Layer(data["layer"]) if data.get("layer") else None
        return cls(**{**data, **lists, "kind": Kind(data.get("kind")), "layer": layer})

    def describe(self) -> str:
        """One line for logs, with the message as it is compared: without numbers and names."""
        told = self.message or self.property or self.signal
        return " · ".join(part for part in (self.describe_kind(), told) if part)

    def describe_kind(self) -> str:
        """Kind, layer and exception class on one line."""
        return " · ".join(part for part in (self.kind, self.layer, self.exception) if part)


def normalize(message: str) -> str:
    """The key line of a message without whatever changes from run to run or from program to
    program.
    """
    for pattern, replacement in _NORMAL:
        message = re.sub(pattern, replacement, message)
    return message.strip()[:200]


def read_torch_frames(failure: Failure) -> tuple[str, ...]:
    """Torch's frames of a described failure, innermost first, at most six, without those that
    every call of a module has: a function may fail in the same place.
    """
    names = [
        f"{frame['file']}:{frame['function']}"
        for frame in failure.get("frames", ())
        if frame.get("torch")
    ]
    return tuple(name for name in reversed(names) if name not in _MODULE_CALL)[:_FRAMES]


def sign_crash(kind: Kind, layer: Layer | None, failure: Failure) -> Signature:
    """The signature of an exception raised by compiling or running the compiled code.

    A message that user code composed (a backend of the user's own, say) names the user's program,
    so it is no part. An internal assertion is torch's own, whoever has called the operator.

    Args:
        layer: the one at fault; None: not known. Failures are compared without it.
        failure: the exception as the target describes it; its frames are outermost first.
    """
    line = str(failure.get("first_line", ""))
    is_of_torch = "error:" in line or "INTERNAL ASSERT FAILED" in line
    by_user = not failure.get("innermost_is_torch", True) and not is_of_torch
    return Signature(
        kind=kind,
        layer=layer,
        exception=str(failure.get("exception")),
        message=None if by_user else normalize(_read_key_line(failure)),
        frames=read_torch_frames(failure),
    )


def sign_refusal(layer: Layer | None, failure: Failure) -> Signature:
    """The signature of what eager mode refuses and the compiled call returns.

    Args:
        layer: the one that lets it pass.
        failure: what eager mode raises. Its words count unless a statement of the program has
            composed them; torch's operators raise below the program's own frames.
    """
    is_composed = _RAISED.search(str(failure.get("traceback", ""))) is not None
    return Signature(
        Kind.ACCEPTS_INVALID,
        layer,
        exception=str(failure.get("exception")),
        message=None if is_composed else normalize(str(failure.get("first_line", ""))),
    )


def read_fake_call(failure: Failure) -> str:
    """The key line of Dynamo's fake call of an operator, with what that one says: the heading is
    the same for all (`torch/_dynamo/utils.py`, `_get_fake_value_impl`, 2.13). Empty for others.
    """
    found = _FAKE_CALL.search(str(failure.get("message", "")))
    if found is None or failure.get("first_line") != found["heading"]:
        return ""
    return f"{found['heading']}: {found['said']}"


def _read_key_line(failure: Failure) -> str:
    """The key line; of violated constraints without their names, and whether torch knows a way
    out, since that one is the user's to take.
    """
    line = read_fake_call(failure) or str(failure.get("first_line", ""))
    if not line.startswith("Constraints violated"):
        return line
    has_fix = "Suggested fixes:" in str(failure.get("message", ""))
    return "Constraints violated, " + ("with a suggested fix" if has_fix else "without any fix")


def is_same_crash(wanted: Signature, seen: Signature) -> bool:
    """Whether two crash signatures are the same bug: class and message agree, or class and
    innermost frames do.
    """
    if wanted.exception != seen.exception:
        return False
    if wanted.message is None or seen.message is None:
        return wanted.message is seen.message and wanted.frames[:1] == seen.frames[:1]
    if wanted.message == seen.message:
        return True
    if wanted.message.startswith("error:") or seen.message.startswith("error:"):
        return False
    alike = _find_words(wanted.message) & _find_words(seen.message)
    union = _find_words(wanted.message) | _find_words(seen.message)
    return (
        bool(wanted.frames)
        and wanted.frames[:2] == seen.frames[:2]
        and len(alike) >= 0.5 * len(union)
    )


def _find_words(message: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Za-z]{3,}", message))


def is_same_failure(wanted: Signature, seen: Signature) -> bool:
    """Whether `seen` shows the bug `wanted` describes.

    The layer is not compared: a run alone does not show it.
    """
    if wanted.kind != seen.kind:
        return False
    match wanted.kind:
        case Kind.CRASH | Kind.CRASH_ON_RECOMPILE:
            return is_same_crash(wanted, seen)
        case Kind.PROCESS_DEATH:
            return wanted.signal == seen.signal
        case Kind.WRONG_METADATA:
            return wanted.property == seen.property
        case Kind.WRONG_RESULT | Kind.WRONG_GRADIENT | Kind.STALE_GRAPH:
            # a smaller program must not fail by what it may do, where the larger one did not do
            # such things
            stands_out = seen.error_ratio is None or seen.error_ratio >= FARTHER_THAN_EAGER
            return stands_out and set(seen.undefined) <= set(wanted.undefined)
        case Kind.ACCEPTS_INVALID:
            return _is_same_refusal(wanted.message, seen.message)
        case (
            Kind.HANG
            | Kind.GRAPH_BREAK
            | Kind.RECOMPILES
            | Kind.UNSUPPORTED
            | Kind.INVALID_PROGRAM
            | Kind.NONDETERMINISTIC
            | Kind.RNG
            | Kind.PRECISION_CAST
            | Kind.ROUNDING
            | Kind.ILL_CONDITIONED
            | Kind.UNDEFINED_VALUE
            | Kind.UNINITIALIZED_MEMORY
            | Kind.NOT_REPRODUCED
            | Kind.OUTSIDE
        ):
            return True
    assert_never(wanted.kind)


def _is_same_refusal(wanted: str | None, seen: str | None) -> bool:
    """Whether eager mode says the same, of what may have fewer dimensions; a plain program does not
    tell what it says.
    """
    if wanted is None or seen is None:
        return True
    words, others = _find_words(wanted), _find_words(seen)
    return len(words & others) >= _SAME_REFUSAL * min(len(words), len(others))


#: Beginnings of the assertion messages of a repro (`anonymizer.harness`, `anonymizer.plain`), and
#: the kind each one shows.
_PREFIXES = {f"{kind.replace('_', ' ')}:": kind for kind in SILENT}


#: What `torch.testing.assert_close` says (`torch/testing/_comparison.py`, the same from 2.0 on).
_NOT_CLOSE = re.compile(
    r"(?:Tensor-likes|Scalars|Booleans|None) (?:are not (?:close|equal)|mismatch)"
)
_ATTRIBUTE = re.compile(r"The values for attribute '(\w+)(?:\(\))?' do not match")
_STRUCTURE = re.compile(r"The (?:length of the sequences|keys of the mappings) (?:mismatch|do not)")
#: What `unittest` says where nothing was raised.
_NOT_RAISED = re.compile(r"\w+ not raised")


def sign_assertion(message: str, wanted: Signature | None = None) -> Signature | None:
    """The signature of a message of a repro's own assertion, or None if it is somebody else's.

    `assertTrue` of unittest puts words of its own before it. That values are not close tells no
    more: that they are those of a gradient, or of an old graph, is known of the `wanted` failure.
    """
    message = message.removeprefix("False is not true : ")
    if _NOT_CLOSE.match(message):
        known = wanted is not None and wanted.kind in WRONG_VALUES
        return Signature(wanted.kind if wanted is not None and known else Kind.WRONG_RESULT)
    if found := _ATTRIBUTE.match(message):
        return Signature(Kind.WRONG_METADATA, property=found.group(1))
    if _STRUCTURE.match(message):
        return Signature(Kind.WRONG_METADATA, property=Property.STRUCTURE)
    if _NOT_RAISED.match(message):
        return Signature(Kind.ACCEPTS_INVALID)
    for prefix, kind in _PREFIXES.items():
        if message.startswith(prefix):
            rest = message.removeprefix(prefix).strip()
            return Signature(
                kind=kind,
                message=_read_refusal(rest),
                property=_read_property(rest),
                error_ratio=_read_ratio(rest),
            )
    return None


def _read_refusal(text: str) -> str | None:
    """What eager mode says where the compiled call returns."""
    found = re.match(r"the compiled call returns where eager raises (.+)", text)
    return normalize(found[1]) if found else None


def _read_property(text: str) -> str | None:
    found = re.match(rf"({'|'.join(Property)})\b", text)
    return found.group(1) if found else None


def read_float64_errors(message: str) -> tuple[float, float] | None:
    """How far a repro's own message says that two results are off float64.

    Returns:
        root mean squares of eager and of compiled, in this order; None where it does not say so.
    """
    found = re.search(r"eager is off by ([-+\w.]+).*?compiled by ([-+\w.]+)", message)
    return (float(found.group(1)), float(found.group(2))) if found else None


def _read_ratio(text: str) -> float | None:
    eager, compiled = read_float64_errors(text) or (math.nan, math.nan)
    if math.isnan(eager) or math.isnan(compiled):
        return None
    return compiled / max(eager, 1e-30) if compiled > 0 else 0.0
