"""Limits that torch states itself: an exception that says "not supported", where eager runs.

Since 2.7 each graph break of Dynamo has a type and hints, which are part of its message
(`torch/_dynamo/graph_break_registry.json`: of 517 types in 2.13.0 the hints of 40 call it a likely
bug of Dynamo, those of 91 an error of the program). Earlier releases raise `Unsupported` without
hints.
"""

from __future__ import annotations

import re

from collectors.protocol.failure import Failure

#: What Dynamo raises for code that it cannot trace, and for what it was asked to keep dynamic.
REFUSALS = frozenset(
    ("Unsupported", "UserError", "ConstraintViolationError", "GuardOnDataDependentSymNode")
)
#: Hints that take it back: `graph_break_hints.DYNAMO_BUG`, and `USER_ERROR`, which claims that
#: eager fails as well, where it was seen to run.
_FAULTS = re.compile(
    r"likely to be a Dynamo bug|will result in an error when running in eager", re.IGNORECASE
)
#: Sentences of the layers below Dynamo, and of torch.compile itself, that state a limit.
_STATED = re.compile(
    r"torch\.compile\b[^.\n]{0,80}\b(?:does not|doesn't|is not|isn't) (?:currently |yet )?support"
    r"|from eager mode is not supported"
    r"|call a compiled backward function within [^.\n]{0,40} isn't supported"
    r"|\b[Uu]nsupported for now\b|a score_mod function is not currently supported"
    r"|are supported in FlexAttention for"
    r"|(?:double backward|higher.order gradients?)[^.\n]{0,40} not (?:currently |yet )?supported"
)
#: What a tensor says whose memory a later run of its CUDA graph has used again, and what to write
#: instead (`torch/_inductor/cudagraph_trees.py`, 2.1 and later).
_OVERWRITTEN = re.compile(r"accessing tensor output of CUDAGraphs that has been overwritten")
#: What compiled code says of a result that is laid out otherwise than the operator's fake kernel
#: promised (`torch/csrc/dynamo/guards.cpp: assert_size_stride`).
_WRONG_FAKE = re.compile(
    r"Error in op: torch\.ops\.(?P<space>\w+)\.(?P<name>\w+)[\w.]*\s*"
    r"This error most often comes from an? incorrect fake"
)
#: Namespaces of torch's own operators.
_NAMESPACES = frozenset("""
    aten prims prim rngprims inductor higher_order quantized quantized_decomposed _quantized sparse
    mkl mkldnn mkldnn_prepacked onednn c10d c10d_functional _c10d_functional fsdp symm_mem
    """.split())
_HINT = re.compile(r"^ *Hint: (.+)$", re.MULTILINE)


def states_limit(failure: Failure) -> bool:
    """Whether an exception states a limit of torch, and does not call it a fault."""
    message = failure["message"]
    if _FAULTS.search(message):
        return False
    stated = _STATED.search(message) is not None or is_overwritten(failure)
    return failure["exception"] in REFUSALS or stated


def is_overwritten(failure: Failure) -> bool:
    """Whether the program used an output of a CUDA graph after the graph had run again."""
    return _OVERWRITTEN.search(failure["message"]) is not None


def find_wrong_fake(failure: Failure) -> str | None:
    """The program's own operator whose fake kernel promised another shape or layout than its
    implementation returned; None for torch's operators, where that is torch's fault.
    """
    found = _WRONG_FAKE.search(failure["message"])
    if found is None or found["space"] in _NAMESPACES:
        return None
    return f"torch.ops.{found['space']}.{found['name']}"


def read_hint(failure: Failure) -> str:
    """What torch says to do instead, one sentence; empty where it says nothing."""
    found = _HINT.search(failure["message"])
    return found.group(1).strip() if found else ""
