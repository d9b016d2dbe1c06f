"""What a report says of its failure, by the names that an issue and the page have for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from anonymizer.kinds import CRASHES, EXPORTERS, Backend, Compiler, Kind, Layer
from templates import kernel
from templates.text import pluralize, render_code

BACKENDS = tuple(Backend)
LAYER_NAMES = {
    Layer.DYNAMO: "Dynamo",
    Layer.AOT_AUTOGRAD: "AOTAutograd",
    Layer.DECOMPOSITION: "a decomposition",
    Layer.INDUCTOR: "Inductor",
    Layer.BACKEND: "the custom backend",
    Layer.TRITON: "Triton",
    Layer.EXPORT: "torch.export",
    Layer.AOTI: "AOTInductor",
    Layer.ONNX: "the exporter to ONNX",
    Layer.EAGER: "eager mode",
}
#: What makes the callable, as an issue calls it.
COMPILERS = {
    Compiler.COMPILE: "torch.compile",
    Compiler.EXPORT: "torch.export",
    Compiler.AOTI: "AOTInductor",
    Compiler.ONNX: "torch.onnx.export",
    Compiler.EAGER: "eager mode",
}
#: Properties of an output (`repro_words.Property` of the protocol) that a title calls otherwise.
PROPERTY_NAMES = {"alias": "aliasing", "python value": "Python value"}
_SIDE_EFFECT = "side effect"
#: What the anonymizer writes in the place of a private text.
PLACEHOLDER = re.compile(r"\b(text\d+\s*)+\b")
#: By what was changed beside a repro: the values with which it fails, and with which it passes.
Changes = dict[str, tuple[list[str], list[str]]]


def name_compiler(report: Mapping[str, Any]) -> str:
    """What makes the callable: torch.compile, torch.export, AOTInductor or torch.onnx.export."""
    return COMPILERS[report["repro"].get("compiler") or Compiler.COMPILE]


def is_exported(report: Mapping[str, Any]) -> bool:
    """Whether the repro exports its program."""
    return report["repro"].get("compiler") in EXPORTERS


def is_eager(report: Mapping[str, Any]) -> bool:
    """Whether the failure needs no compiler."""
    return bool(report["verdict"]["layer"] == Layer.EAGER)


def is_exception(verdict: Mapping[str, object]) -> bool:
    """Whether the failure is an exception of the compiler."""
    return verdict["kind"] in CRASHES | {Kind.UNSUPPORTED}


def is_effect(verdict: Mapping[str, object]) -> bool:
    """Whether the property that differs is Python's state after the call, and no output's."""
    return verdict["kind"] == Kind.WRONG_METADATA and read_detail(verdict) == _SIDE_EFFECT


def read_detail(verdict: Mapping[str, object]) -> str:
    """What follows kind and layer in the signature: the property that differs, or the exception;
    empty where there is none.
    """
    return next(iter(str(verdict["signature"]).split(" · ")[2:]), "")


def tidy_message(verdict: Mapping[str, Any]) -> str:
    """What the error says on one line; where it said only which operator it was about, that follows
    in brackets.
    """
    said = re.sub(r", please report a bug to PyTorch\.", ".", verdict["message"] or "")
    return re.sub(r":? \| target: (.*)$", r" (\1)", said)


def name_exception(verdict: Mapping[str, Any]) -> str:
    """The class of the exception as code, or "an error"."""
    return render_code(verdict["exception"]) or "an error" if verdict["exception"] else "an error"


def join_operators(report: Mapping[str, Any], limit: int) -> str:
    """The first `limit` operators of the repro, with a mark where there are more."""
    names = list(report["repro"]["operators"])
    shown = ", ".join(names[:limit])
    return shown + (", …" if len(names) > limit else "")


def read_changes(report: Mapping[str, Any]) -> Changes:
    """By what was changed beside the repro: with which values it fails, its own first, and with
    which it passes.
    """
    rows: Changes = {}
    for row in report["repro"].get("neighbours") or ():
        what, _, value = row["change"].partition(": ")
        rows.setdefault(what, ([], []))[not row["fails"]].append(value)
    return rows


def name_unit(report: Mapping[str, Any]) -> str:
    """What the size of a repro is counted in."""
    return "statement" if kernel.is_kernel(report) else "tensor operation"


def name_subject(report: Mapping[str, Any]) -> str:
    """The project at fault with its release."""
    if kernel.is_kernel(report):
        return f"Triton {report['triton']['version']}"
    return f"torch {report['torch']}"


def describe_off(off: int, elements: int) -> str:
    """How many elements are off: `1 of 16 elements is off`."""
    return f"{off} of {pluralize(elements, 'element')} {'is' if off == 1 else 'are'} off"
