"""What an exported program refuses: inputs that it was not exported for, dynamic shapes that the
module does not have, and what torch.export or the exporter to ONNX says that it does not support.

Each excuse is measured: the suggested fix is tried, or the module is exported for the inputs at
hand. Source: `torch/_export/utils.py`, `torch/fx/experimental/symbolic_shapes.py`,
`torch/onnx/_internal/exporter/_core.py`, the status codes of ONNX Runtime.
"""

from __future__ import annotations

import re

from collectors.protocol.failure import Failure
from reporter.core.errors import CannotJudgeError
from reporter.core.kinds import Compiler, Kind, Layer, RungOutcome
from reporter.diagnose import unsupported_features
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.ladder import LadderRunner
from reporter.diagnose.measuring import make_diagnosis
from reporter.diagnose.rungs import COMPILED, EAGER, FRESH, REFINED, STATIC

_FIXES = "Suggested fixes:"
_CONSTRAINTS = ("Constraints violated", "Specializations unexpectedly required")
#: Torch on arguments of torch.export.export that do not fit together.
_ARGUMENTS = re.compile(
    r"Detected mismatch between the structure of `inputs`|Expecting `args` to be a tuple"
    r"|`dynamic_shapes` contains|Expected mod to be an instance of"
    r"|When `dynamic_shapes` is specified"
)
#: Torch on a size that the declared range of its dimension does not hold. The lower end need not be
#: what was declared: of a size, and so of its multiples, torch.export takes 2 at least.
_RANGE = re.compile(r"\b(\d+) not in range (\[\d+, (\d+)\])")
#: What fake tensors raise for an operator whose shapes or results depend on values, or that has no
#: implementation for them (`torch/_subclasses/fake_tensor.py`); Dynamo makes a graph break of each.
_NO_FAKE_TENSOR = frozenset(
    (
        "DynamicOutputShapeException",
        "DataDependentOutputException",
        "UnsupportedOperatorException",
    )
)
#: What the exporter to ONNX, and ONNX Runtime, raise for an operator that they do not have.
_NO_OPERATOR = frozenset(("DispatchError", "UnsupportedOperatorError", "NotImplemented"))
#: Torch on a limit of torch.export.
_LIMIT = re.compile(
    r"not supported|[Uu]nsupported|only supports|data-dependent|not (?:yet )?implemented"
    # classes that cannot be saved before the program registers them (torch/utils/_pytree.py)
    r"|Please register|No registered serialization name|in pytree is not registered"
)


def excuse_refusal(runner: LadderRunner) -> Diagnosis | None:
    """The verdict on an exception of torch.export, or of an exported program, that is no bug.

    Raises:
        CannotJudgeError: the exporter to ONNX lacks a package of its own.
    """
    again = runner.measure(COMPILED)
    failure = runner.finding.failure or again.failure
    if failure is None:
        return None
    cited = (EAGER, COMPILED)
    if (
        failure["exception"] == "ModuleNotFoundError"
        and runner.finding.original.compiler == Compiler.ONNX
    ):
        raise CannotJudgeError(
            f"the exporter to ONNX cannot run here ({failure['first_line']}); install onnx,"
            " onnxscript and onnxruntime for the interpreter of the script"
        )
    message = failure["message"]
    if runner.finding.original.replay:
        fresh = runner.measure(FRESH)
        if fresh.agrees:
            return _judge_other_inputs(runner, failure)
    beyond = _judge_range(runner, failure)
    if beyond is not None:
        return beyond
    if message.startswith(_CONSTRAINTS):
        return _judge_constraints(runner, failure)
    if _ARGUMENTS.search(message):
        summary = f"torch.export refuses its arguments: {failure['first_line'].rstrip('.')}."
        return make_diagnosis(runner, Kind.INVALID_PROGRAM, Layer.EXPORT, summary, cited)
    refused = failure["exception"] in unsupported_features.REFUSALS | _NO_OPERATOR | _NO_FAKE_TENSOR
    if refused or _LIMIT.search(failure["first_line"]):
        layer, who = _find_refusing_layer(runner, failure)
        summary = f"{who} says that it does not support this: {failure['first_line'].rstrip('.')}."
        return make_diagnosis(runner, Kind.UNSUPPORTED, layer, summary, cited, failure=failure)
    return None


def _find_refusing_layer(runner: LadderRunner, failure: Failure) -> tuple[Layer, str]:
    """The layer that refuses, and its name at the beginning of a sentence."""
    if runner.finding.original.compiler != Compiler.ONNX or "TorchExportError" in failure["chain"]:
        return Layer.EXPORT, "torch.export"
    if any(frame["torch"] for frame in failure["frames"]):
        return Layer.ONNX, "The exporter to ONNX"
    return Layer.ONNX, "ONNX Runtime"


def _judge_range(runner: LadderRunner, failure: Failure) -> Diagnosis | None:
    """A size that the program itself rules out; where it was exported for another one, exporting
    for this one says so.
    """
    name = FRESH if runner.finding.original.replay else COMPILED
    said = runner.measure(name).failure or failure
    size = _RANGE.search(said["message"])
    if size is None or int(size[1]) <= int(size[3]):
        return None
    summary = f"A size is {size[1]}, beyond the range {size[2]} that its dimension is given."
    return make_diagnosis(runner, Kind.INVALID_PROGRAM, Layer.EXPORT, summary, (EAGER, name))


def _judge_other_inputs(runner: LadderRunner, failure: Failure) -> Diagnosis:
    """The program refuses inputs that it was not exported for."""
    summary = (
        "The exported program refuses inputs of other sizes or another structure than those that it"
        f" was exported for ({failure['first_line'].rstrip('.')}); exported for these inputs, it"
        " agrees with eager."
    )
    dynamic = runner.finding.original.has_dynamic_shapes
    if dynamic:
        summary += " The sizes were declared as dynamic, and torch has put a condition on them."
    kind = Kind.UNSUPPORTED if dynamic else Kind.INVALID_PROGRAM
    return make_diagnosis(runner, kind, Layer.EXPORT, summary, (EAGER, FRESH))


def _judge_constraints(runner: LadderRunner, failure: Failure) -> Diagnosis | None:
    """Dynamic shapes that the module does not have; a fault of torch.export where it names no shape
    that would do.
    """
    message = failure["message"]
    if _FIXES not in message:
        return None
    fixes = message.split(_FIXES, 1)[1].strip().split("\n\n")[0]
    said = " and ".join(line.strip() for line in fixes.splitlines() if line.strip())
    runner.fixes = f"{_FIXES}\n{fixes}"  # torch reads nothing behind them
    tried = runner.measure(REFINED)
    if tried.outcome == RungOutcome.SKIPPED:
        tried = runner.measure(STATIC)
    if not tried.agrees:
        return None
    summary = (
        "The module does not have the dynamic shapes that it is exported with. Torch suggests"
        f" {said}; with that it is exported and agrees with eager."
    )
    return make_diagnosis(runner, Kind.INVALID_PROGRAM, Layer.EXPORT, summary, (EAGER, tried.name))
