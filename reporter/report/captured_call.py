"""What the first half of a run hands to the second: plain JSON, so that a killed run goes on
without the script.

The first half runs the user's program (record, diagnose, capture); the second half never needs it
again. Everything here is private: it is kept in `private/` and nothing of it is shown without being
rebuilt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypedDict

import msgspec

from anonymizer.graph.boilerplate import ReproCheck
from collectors.protocol import (
    CaptureWay,
    EquivalenceAnswer,
    Failure,
    GatheredJson,
    GraphJson,
    TraceJson,
)
from reporter.core.errors import UsageError
from reporter.core.kinds import Kind, Layer
from reporter.core.plain import Json
from reporter.core.signature import Signature
from reporter.report.environment import public_environment
from reporter.report.folder import write_private
from reporter.report.sections import DiagnosisSections, RungRow, section

_VERSION = 3


class Rewriting(TypedDict, total=False):
    """A program rewritten in public words: whether it is the private one, or why nobody could
    ask.
    """

    equivalence: EquivalenceAnswer
    #: A sentence without a full stop.
    error: str


class WholeModel(Rewriting, total=False):
    """The failing call as a whole: its trace, from which the model is written, and its source."""

    trace: TraceJson
    source: Rewriting


@dataclass(frozen=True)
class CapturedCall:
    """The verdict with its measurements, and all that candidates are made from.

    `tensors` are the sizes, in elements, of what the failing call was given, by their names in the
    private program. `whole` is the trace of the failing call and the proof of its rewriting, where
    `anonymize` asked for them. `environment` has what may leave of the machine's facts, `withheld`
    the words of the others. `python` and `differs_from` are interpreters: the one the script ran
    in, and those that a candidate must pass in.
    """

    kind: Kind
    layer: Layer
    summary: str
    is_bug: bool
    signature: Signature | None
    failure: Failure | None
    ladder: tuple[RungRow, ...]
    check: ReproCheck | None
    captures: tuple[tuple[GraphJson, CaptureWay], ...]
    gathered: GatheredJson | None
    environment: Json
    vocabulary: tuple[str, ...]
    internals: tuple[str, ...]
    sources: Mapping[str, str]
    python: str
    output: str = ""
    reproduced: tuple[int, int] = (0, 0)
    command: str = ""
    details: DiagnosisSections = DiagnosisSections()
    remarks: tuple[str, ...] = ()
    script: Json = field(default_factory=dict)
    differs_from: tuple[str, ...] = ()
    whole: WholeModel | None = None
    tensors: Mapping[str, int] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()

    @property
    def device(self) -> str:
        """The device that the failing program computes on: cuda if any of its tensors is there."""
        text = json.dumps([graph for graph, _ in self.captures])
        return "cuda" if '"device": "cuda"' in text else "cpu"

    def sizes(self) -> frozenset[int]:
        """The sizes of the failing call's tensors, and the ends of the ranges of its whole
        numbers.
        """
        traced = (self.whole or {}).get("trace", {}).get("tensors", ())
        return frozenset(_sizes([*(graph for graph, _ in self.captures), *traced]))

    def public_words(self) -> frozenset[str]:
        """torch's own words, and the values of settings that are choices torch offers."""
        configs = self.environment.get("configs") or {}
        chosen = (str(configs.get(name)) for name in self.environment.get("choices") or ())
        return frozenset(self.vocabulary).union(chosen)

    def save(self, path: Path) -> None:
        """Writes the recording, mode 0600."""
        write_private(path, json.dumps({"version": _VERSION, **msgspec.to_builtins(self)}))

    @classmethod
    def load(cls, path: Path) -> CapturedCall:
        """Reads a recording back.

        Raises UsageError if there is none or it is of another version.
        """
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data.pop("version") != _VERSION:
                raise ValueError("another version")
            data["kind"], data["layer"] = Kind(data["kind"]), Layer(data["layer"])
            data["signature"] = _signature(data["signature"])
            data["check"] = _check(data["check"])
            data["ladder"] = tuple(section(RungRow, row) for row in data["ladder"])
            data["captures"] = tuple((graph, way) for graph, way in data["captures"])
            data["vocabulary"], data["internals"] = tuple(data["vocabulary"]), tuple(
                data["internals"]
            )
            data["reproduced"], data["remarks"] = tuple(data["reproduced"]), tuple(data["remarks"])
            data["details"] = section(DiagnosisSections, data["details"])
            data["differs_from"] = tuple(data.get("differs_from", ()))
            data["environment"] = public_environment(data["environment"])
            data["withheld"] = tuple(data.get("withheld", ()))
            return cls(**data)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{path.parent.parent} holds no run that can be resumed ({type(error).__name__});"
                " start anew without --resume"
            ) from None


def _sizes(value: Any) -> Iterator[int]:
    """Every shape in the IR, wherever it is, and the bounds of the statistics."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "shape" and isinstance(item, list):
                yield from (size for size in item if isinstance(size, int))
            elif key == "stats" and isinstance(item, dict):
                yield from (n for n in (item.get("min"), item.get("max")) if isinstance(n, int))
                if isinstance(item.get("max"), int):
                    yield item["max"] + 1
            else:
                yield from _sizes(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _sizes(item)


def _signature(data: Json | None) -> Signature | None:
    return Signature.from_json(data) if data else None


def _check(data: Json | None) -> ReproCheck | None:
    if data is None:
        return None
    for item in fields(ReproCheck):
        if isinstance(data.get(item.name), list):
            data[item.name] = tuple(_tuple(entry) for entry in data[item.name])
    return ReproCheck(**data)


def _tuple(value: Any) -> Any:
    return tuple(_tuple(item) for item in value) if isinstance(value, list) else value
