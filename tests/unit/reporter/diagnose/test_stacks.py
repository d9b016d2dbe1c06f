"""Where an exception comes from, by its frames: compiling, or running what was compiled."""

from __future__ import annotations

import pytest

from reporter.core.kinds import Layer
from reporter.diagnose.stacks import (
    find_raising_layer,
    is_raised_by_exported,
    is_raised_while_running,
)

CALLED = "torch/_dynamo/eval_frame.py"
WRAPPER = "torch/_functorch/_aot_autograd/runtime_wrappers.py"
RUNS = "torch/_inductor/output_code.py"


@pytest.mark.parametrize(
    ("files", "running"),
    [
        ([CALLED, WRAPPER, RUNS, "torch/_inductor/generated"], True),
        ([CALLED, WRAPPER, RUNS], True),
        ([CALLED, "torch/_dynamo/convert_frame.py", "torch/_inductor/compile_fx.py"], False),
        # a backward pass is compiled when it first runs
        ([WRAPPER, "torch/_dynamo/backends/common.py", CALLED], False),
        ([WRAPPER, "torch/_inductor/compile_fx.py"], False),
        (["torch/_inductor/generated", "torch/_inductor/async_compile.py"], False),
        # where torch has cut the frames away, or a backend of the program's own runs
        ([CALLED], False),
        ([CALLED, "script.py"], False),
        ([], False),
    ],
)
def test_an_exception_of_a_kernel_is_told_from_that_of_a_compiler(
    files: list[str], running: bool
) -> None:
    frames = [{"file": file, "function": "call", "torch": True} for file in files]
    assert is_raised_while_running({"frames": frames}) is running


@pytest.mark.parametrize(
    ("files", "layer"),
    [
        ([CALLED, WRAPPER, RUNS, "torch/_inductor/generated", "torch/_ops.py"], Layer.INDUCTOR),
        # AOTAutograd watches the operators that generated code calls
        ([CALLED, RUNS, "torch/_inductor/generated", WRAPPER, "torch/_ops.py"], Layer.INDUCTOR),
        ([CALLED, RUNS, WRAPPER], Layer.AOT_AUTOGRAD),
        # a backward pass that is compiled below generated code
        (
            ["torch/_inductor/generated", "torch/_inductor/async_compile.py", WRAPPER],
            Layer.AOT_AUTOGRAD,
        ),
        ([CALLED], Layer.DYNAMO),
        (["script.py"], None),
    ],
)
def test_an_operator_in_generated_code_raises_in_inductor(
    files: list[str], layer: Layer | None
) -> None:
    frames = [{"file": file, "function": "call", "torch": True} for file in files]
    assert find_raising_layer({"frames": frames}) is layer


def test_nothing_is_known_without_a_failure() -> None:
    assert not is_raised_while_running(None)


CALL = ("torch/fx/graph_module.py", "call_wrapped")
UNFLATTENED = "torch/export/unflatten.py"


@pytest.mark.parametrize(
    ("places", "is_call"),
    [
        ([CALL, ("<eval_with_key>.9", "forward"), ("torch/__init__.py", "_assert")], True),
        ([CALL, ("torch/export/_unlift.py", "_check_input_constraints_pre_hook")], True),
        ([(UNFLATTENED, "forward"), ("torch/_export/utils.py", "_check_symint")], True),
        ([("torch/export/__init__.py", "unflatten"), (UNFLATTENED, "unflatten")], False),
        # what is exported may be called on the way, and the outermost frames may be cut off
        ([("torch/export/_trace.py", "_export"), CALL, ("script.py", "forward")], False),
        ([("torch/fx/experimental/proxy_tensor.py", "call_module"), CALL], False),
        ([("torch/_dynamo/symbolic_convert.py", "run")], False),
        ([], False),
    ],
)
def test_a_call_of_an_exported_program_is_told_from_its_export(
    places: list[tuple[str, str]], is_call: bool
) -> None:
    frames = [{"file": file, "function": function, "torch": True} for file, function in places]
    assert is_raised_by_exported({"frames": frames}) is is_call
    assert not is_raised_by_exported(None)
