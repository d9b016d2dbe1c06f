"""What the first half of a run hands to the second: plain JSON, so that a killed run goes on
without the script.

The first half runs the user's program (record, diagnose, capture); the second half never needs it
again. Everything here is private: it is kept in `private/` and nothing of it is shown without being
rebuilt.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec

from anonymizer.graph.repro import ReproAssertion
from collectors.protocol import captured_graph, captured_trace, program_source
from collectors.protocol.failure import Failure
from collectors.protocol.graphs import CaptureWay, EquivalenceAnswer
from reporter.core.errors import UsageError
from reporter.core.json_values import Json
from reporter.core.kinds import Kind, Layer
from reporter.core.signature import Signature
from reporter.report.environment import build_public_environment
from reporter.report.folder import write_private
from reporter.report.sections.details import DiagnosisSections
from reporter.report.sections.measurements import RungRow

if TYPE_CHECKING:
    GraphJson = captured_graph.GraphJson
    TraceJson = captured_trace.TraceJson
    GatheredJson = program_source.GatheredJson
else:  # msgspec reads no unions of objects: what was captured is read as it is
    GatheredJson = GraphJson = TraceJson = dict

_VERSION = 4


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
class CapturedVerdict:
    """What the diagnosis says of the call, with its measurements.

    `ladder` are the rungs that were measured, `reproduced` how many repetitions of the call showed
    the failure, of how many. `remarks` are lines for the end of the terminal's output. With
    `is_request` it is a limit that torch states, which is reported as if it were a bug; with
    `is_from_cache` a reused graph came out of the compiler's cache. `device` is where eager mode
    computed the call. `wrong_outputs` are the positions of the outputs that are wrong.
    """

    kind: Kind
    layer: Layer
    summary: str
    is_bug: bool
    signature: Signature | None = None
    failure: Failure | None = None
    ladder: tuple[RungRow, ...] = ()
    reproduced: tuple[int, int] = (0, 0)
    details: DiagnosisSections = DiagnosisSections()
    remarks: tuple[str, ...] = ()
    is_request: bool = False
    is_from_cache: bool = False
    device: str = "cpu"
    wrong_outputs: tuple[int, ...] = ()

    @property
    def reported_kind(self) -> Kind:
        """The kind that readers of the report are told."""
        return Kind.UNSUPPORTED if self.is_request else self.kind


class ProgramMaterial(msgspec.Struct, frozen=True):
    """What candidates are made from: the assertion, the graphs with how each was captured, the
    call's values and source as they were gathered, and the texts of the program's files by path.

    `tensors` are the sizes, in elements, of what the failing call was given, by their names in the
    private program. `whole` is the trace of the failing call and the proof of its rewriting, where
    `anonymize` asked for them. `frames` are the functions of the script, with a line in each, that
    led to the call; `script` is its path among the `sources`, `arguments` are those that it was
    started with, and `parsed` what argparse made of them.
    """

    #: In recording.json under the key `check`, which recordings of earlier releases have.
    assertion: ReproAssertion | None = msgspec.field(default=None, name="check")
    captures: tuple[tuple[GraphJson, CaptureWay], ...] = ()
    gathered: GatheredJson | None = None
    sources: Mapping[str, str] = msgspec.field(default_factory=dict)
    tensors: Mapping[str, int] = msgspec.field(default_factory=dict)
    whole: WholeModel | None = None
    script: str | None = None
    frames: tuple[tuple[str, int], ...] = ()
    arguments: tuple[str, ...] = ()
    parsed: Mapping[str, str] = msgspec.field(default_factory=dict)


@dataclass(frozen=True)
class Surroundings:
    """The machine and the torch that the program ran on.

    `python` is the path of the interpreter that the script ran in, `differs_from` those that a
    candidate must pass in. `environment` has what may leave of the machine's facts, `withheld` the
    words of the others. `vocabulary` are torch's public words, `internals` names that only its own
    code uses.
    """

    python: str
    environment: Json = field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    vocabulary: tuple[str, ...] = ()
    internals: tuple[str, ...] = ()
    differs_from: tuple[str, ...] = ()

    def collect_public_words(self) -> frozenset[str]:
        """torch's own words, and the values of settings that are choices torch offers."""
        configs = self.environment.get("configs") or {}
        chosen = (str(configs.get(name)) for name in self.environment.get("choices") or ())
        return frozenset(self.vocabulary).union(chosen)


@dataclass(frozen=True)
class ScriptRun:
    """The script's command line, and the tail of what it printed."""

    command: str = ""
    output: str = ""


@dataclass(frozen=True)
class CapturedCall:
    """All that the second half of a run is made from."""

    verdict: CapturedVerdict
    material: ProgramMaterial
    surroundings: Surroundings
    script: ScriptRun = ScriptRun()

    @property
    def is_bug(self) -> bool:
        """Whether there is something to report."""
        return self.verdict.is_bug

    @property
    def device(self) -> str:
        """The device that the failing program computes on: cuda if any of its tensors is there.

        Where there are no graphs it is that of the call in eager mode.
        """
        if not self.material.captures:
            return self.verdict.device
        text = json.dumps([graph for graph, _ in self.material.captures])
        return "cuda" if '"device": "cuda"' in text else "cpu"

    def collect_sizes(self) -> frozenset[int]:
        """The sizes of the failing call's tensors, and the ends of the ranges of its whole
        numbers.
        """
        traced = (self.material.whole or {}).get("trace", {}).get("tensors", ())
        return frozenset(_list_sizes([*(graph for graph, _ in self.material.captures), *traced]))

    def save(self, path: Path) -> None:
        """Writes the recording, mode 0600."""
        write_private(path, msgspec.json.encode(_Saved(_VERSION, self)).decode())

    @classmethod
    def load(cls, path: Path) -> CapturedCall:
        """Reads a recording back.

        Raises:
            UsageError: there is none, it is damaged, or it is of another version.
        """
        try:
            saved = msgspec.json.decode(path.read_bytes(), type=_Saved)
            if saved.version != _VERSION:
                raise ValueError("another version")
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{path.parent.parent} holds no run that can be resumed ({type(error).__name__});"
                " start anew without --resume"
            ) from None
        facts = build_public_environment(saved.call.surroundings.environment)
        return replace(saved.call, surroundings=replace(saved.call.surroundings, environment=facts))


@dataclass(frozen=True)
class _Saved:
    """The file: the call, and the version of its form."""

    version: int
    call: CapturedCall


def _list_sizes(value: Any) -> Iterator[int]:
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
                yield from _list_sizes(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _list_sizes(item)
