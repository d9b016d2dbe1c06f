"""What an exported program may refuse, and what torch.export may, with the run that excuses it."""

from __future__ import annotations

from typing import Any

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.diagnose.diagnosis import Diagnosis
from reporter.diagnose.rungs import EXPORT, FRESH, ONNX_RUNTIME, REFINED, STATIC
from tests.support.made_up_call import EQUAL, WRONG, MadeUp, raises, verdict

CONSTRAINTS = (
    "Constraints violated (batch)! For more information, run with TORCH_LOGS.\n"
    "  - Not all values of batch satisfy the generated guard.\n"
    "Suggested fixes:\n  batch = 2*_batch\n\nmore of the message"
)


def judged(
    message: str,
    rungs: dict[str, Any] | None = None,
    exception: str = "RuntimeError",
    options: dict[str, Any] | None = None,
    **more: Any,
) -> tuple[Diagnosis, MadeUp]:
    refused = raises(exception, message)
    refused["failure"]["first_line"] = message.splitlines()[0]
    given = {"compiled": refused, **(rungs or {})}
    options = {"compiler": "export", **(options or {})}
    return verdict(given, "raised", failure=refused["failure"], options=options, **more)


def test_an_exception_that_no_rule_excuses_is_a_crash_of_torch_export() -> None:
    found, _ = judged("list index out of range", exception="IndexError")
    assert (found.kind, found.layer, found.is_bug) == ("crash", "export", True)


def test_dynamic_shapes_that_the_suggested_fix_mends_are_the_programs_own() -> None:
    found, call_session = judged(CONSTRAINTS)
    assert (found.kind, found.layer) == ("invalid_program", "export")
    assert "Torch suggests batch = 2*_batch; with that" in found.summary
    assert REFINED in call_session.measured() and REFINED in found.basis.cited


def test_a_suggested_fix_that_does_not_help_leaves_the_bug() -> None:
    found, _ = judged(CONSTRAINTS, {REFINED: raises(), STATIC: raises()})
    assert (found.kind, found.layer) == ("crash", "export")


def test_violated_constraints_without_a_fix_are_a_bug() -> None:
    found, call_session = judged(CONSTRAINTS.split("Suggested")[0])
    assert (found.kind, found.layer) == ("crash", "export")
    assert REFINED not in call_session.measured()


@pytest.mark.parametrize(
    "message",
    [
        "Expecting `args` to be a tuple of example positional inputs, got <class 'list'>.",
        "Detected mismatch between the structure of `inputs` and `dynamic_shapes`: 2 and 1.",
        "When `dynamic_shapes` is specified as a list, its length must be 2.",
    ],
)
def test_arguments_of_torch_export_that_do_not_fit_are_the_programs_own(message: str) -> None:
    found, _ = judged(message)
    assert (found.kind, found.layer) == ("invalid_program", "export")
    assert "refuses its arguments" in found.summary


@pytest.mark.parametrize(
    "message",
    [
        "Could not guard on data-dependent expression u0 > 0.",
        "Exporting a ScriptModule is not supported.",
        "Can't serialize TreeSpec of namedtuple class <class 'T'> because we didn't register a"
        " serializated_type_name. Please register using `_register_namedtuple`.",
        "No registered serialization name for <class 'T'> found.",
    ],
)
def test_a_stated_limit_is_unsupported(message: str) -> None:
    found, _ = judged(message)
    assert (found.kind, found.layer) == ("unsupported", "export")
    assert message.rstrip(".") in found.summary


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({}, "invalid_program", "exported for these inputs, it agrees with eager"),
        ({"dynamic_shapes": "given"}, "unsupported", "declared as dynamic"),
    ],
)
def test_inputs_that_a_program_was_not_exported_for_are_refused(
    options: dict[str, Any], kind: str, said: str
) -> None:
    found, _ = judged("Expected input.size()[0] to be 2, but got 4", options=options, replay=True)
    assert (found.kind, found.layer) == (kind, "export")
    assert said in found.summary


def test_inputs_that_an_export_for_them_refuses_too_are_no_excuse() -> None:
    found, _ = judged("no", {"fresh compile": raises()}, replay=True)
    assert found.is_bug


ONNX: dict[str, Any] = {"compiler": "onnx", "steps": ["onnx"]}
NO_FUNCTION = "No ONNX function found for <OpOverload(op='aten._linalg_eigh', overload='default')>"


def test_an_operator_that_the_exporter_to_onnx_does_not_have_is_a_limit() -> None:
    found, _ = judged(NO_FUNCTION, exception="DispatchError", options=ONNX)
    assert (found.kind, found.layer) == ("unsupported", "onnx")


@pytest.mark.parametrize(
    "exception", ["DynamicOutputShapeException", "DataDependentOutputException"]
)
def test_an_operator_without_fake_tensors_is_a_limit_of_an_export(exception: str) -> None:
    found, _ = judged("aten.linalg_lstsq.default", exception=exception)
    assert (found.kind, found.layer, found.is_bug) == ("unsupported", "export", False)


def test_a_model_that_onnx_runtime_refuses_is_a_bug_of_the_exporter() -> None:
    found, call_session = judged("This is an invalid model.", exception="Fail", options=ONNX)
    assert (found.kind, found.layer, found.is_bug) == ("crash", "onnx", True)
    assert {EXPORT, ONNX_RUNTIME} <= set(call_session.measured())


def test_what_torch_export_cannot_do_is_not_the_exporters_to_onnx() -> None:
    rungs = {"compiled": raises("IndexError", "no such node"), EXPORT: raises("IndexError")}
    found, _ = judged("no such node", rungs, exception="IndexError", options=ONNX)
    assert (found.kind, found.layer) == ("crash", "export")


def test_without_the_packages_of_onnx_nothing_can_be_said() -> None:
    with pytest.raises(CannotJudgeError, match="install onnx, onnxscript and onnxruntime"):
        judged("No module named 'onnxscript'", exception="ModuleNotFoundError", options=ONNX)


@pytest.mark.parametrize(("exported", "kind"), [(EQUAL, "rng"), (WRONG, "wrong_result")])
def test_random_numbers_of_onnx_runtime_are_its_own(exported: Any, kind: str) -> None:
    """Only where torch.export alone draws as eager does, or they are no excuse."""
    rungs = {"compiled": WRONG, ONNX_RUNTIME: WRONG, EXPORT: exported}
    found, _ = verdict(rungs, "differs", facts={"random": True}, options=ONNX)
    assert found.kind == kind


@pytest.mark.parametrize(
    ("size", "kind"),
    [
        ("20 not in range [2, 16]", "invalid_program"),
        # 2 is the least that torch.export takes, whatever was declared, and 10 five times that
        ("1 not in range [2, 8]", "crash"),
        ("5 not in range [10, 40]", "crash"),
    ],
)
def test_a_size_beyond_the_range_that_was_declared_is_the_programs_own(
    size: str, kind: str
) -> None:
    fresh = {FRESH: raises("ConstraintViolationError", size)}
    found, call_session = judged("Guard failed: x.size()[0]", fresh, "AssertionError", replay=True)
    assert (found.kind, found.layer) == (kind, "export")
    assert FRESH in call_session.measured()
    found, _ = judged(size, exception="UserError")
    assert (found.kind == "invalid_program") is (kind == "invalid_program")
