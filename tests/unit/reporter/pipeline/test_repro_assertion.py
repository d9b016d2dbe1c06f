"""Which settings of the recorded call a repro keeps."""

from __future__ import annotations

from typing import Any

import pytest

from collectors.protocol.events import ContextState
from reporter.pipeline.repro_assertion import (
    build_assertion,
    list_contexts,
    write_compile_arguments,
    write_config_lines,
    write_onnx_arguments,
    write_settings,
)
from tests.support.made_up_call import compared, raises, value, verdict

PLAIN_CONTEXT: ContextState = {
    "grad": True,
    "inference": False,
    "autocast": {},
    "autocast_cache": True,
    "default_dtype": "torch.float32",
    "threads": 2,
    "deterministic": False,
    "matmul_precision": "highest",
}


@pytest.mark.parametrize(
    ("context", "environment", "line"),
    [
        ({"default_dtype": "torch.float64"}, {}, "torch.set_default_dtype(torch.float64)"),
        ({"deterministic": True}, {}, "torch.use_deterministic_algorithms(True)"),
        ({"threads": 1}, {"cores": 8}, "torch.set_num_threads(1)"),
        ({"matmul_precision": "high"}, {}, 'torch.set_float32_matmul_precision("high")'),
        ({"default_dtype": "torch.float32", "matmul_precision": "highest"}, {"cores": 8}, ""),
        ({"threads": 1}, {"cores": 1}, ""),  # as many as there are
        ({"threads": 4}, {"cores": 8}, ""),
    ],
)
def test_a_switch_that_was_not_at_its_default_becomes_a_statement(
    context: dict[str, Any], environment: dict[str, Any], line: str
) -> None:
    given: Any = {**PLAIN_CONTEXT, **context}
    facts: Any = environment or None
    assert write_settings(given, facts) == line


@pytest.mark.parametrize(
    ("context", "lines"),
    [
        ({}, []),
        ({"default_device": None}, []),
        ({"default_device": "cuda:0"}, ['torch.device("cuda")']),
        ({"grad": False, "default_device": "meta"}, ["torch.no_grad()", 'torch.device("meta")']),
    ],
)
def test_the_device_that_a_program_has_chosen_is_a_context(
    context: dict[str, Any], lines: list[str]
) -> None:
    given: Any = {**PLAIN_CONTEXT, **context}
    assert list(list_contexts(given)) == lines


def test_only_plain_values_and_choices_of_torch_itself_are_kept_of_its_configuration() -> None:
    found = {
        "torch._inductor.config.max_autotune": True,
        "torch._inductor.config.cpp.simdlen": None,
        "torch._inductor.config.debug_dir": "/home/me/secret",
        "torch._functorch.config.choice": "recompute",
        "torch._inductor.config.compile_threads": 1,  # says how many cores there are
        "torch._dynamo.secret": 3,
        "mylib.config.size": 3,
    }
    assert write_config_lines(found, {"torch._functorch.config.choice"}) == (
        ("torch._inductor.config.max_autotune", "True"),
        ("torch._inductor.config.cpp.simdlen", "None"),
        ("torch._functorch.config.choice", "'recompute'"),
    )


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, ()),
        ({"backend": "inductor", "mode": "default", "fullgraph": False}, ()),
        ({"backend": "aot_eager"}, (("backend", "'aot_eager'"),)),
        ({"backend": {"name": "mine"}}, ()),
        (
            {"dynamic": False, "fullgraph": True},
            (("dynamic", "False"), ("fullgraph", "True")),
        ),
        ({"options": {"max_autotune": True}}, (("options", "{'max_autotune': True}"),)),
        ({"options": {"pass": {"function": "mine"}}}, ()),
    ],
)
def test_arguments_of_compile_are_kept_where_they_are_torchs_own(
    options: dict[str, Any], kept: tuple[tuple[str, str], ...]
) -> None:
    assert write_compile_arguments(options) == kept


def test_of_the_names_in_a_model_of_onnx_only_words_of_torch_stay() -> None:
    options = {
        "output_names": ["softmax", "tumour_risk"],
        "input_names": ["scan"],
        "optimize": False,
    }
    made = dict(write_onnx_arguments(options, {"softmax", "relu"}))
    assert made == {"output_names": "['softmax', 'name1']", "optimize": "False"}


@pytest.mark.parametrize(("dual", "how"), [(True, "tangents"), (False, "none")])
def test_a_call_that_fails_on_dual_tensors_is_given_such(dual: bool, how: str) -> None:
    found, _ = verdict({"inductor": raises()}, "raised", {"dual": dual})
    assert found.kind == "crash" and found.basis.finding is not None
    found.basis.finding.original.context.update(PLAIN_CONTEXT)
    assert build_assertion(found, None).backward == how


def test_a_call_whose_wrong_values_are_small_is_compared_by_their_size() -> None:
    for scale, is_small in ((5e-5, True), (1.0, False)):
        wrong = compared(value(scale=scale, error_vs_fp64=scale, eager_error_vs_fp64=0.0))
        found, _ = verdict({"compiled": wrong, "inductor": wrong})
        assert found.kind == "wrong_result" and found.basis.finding is not None
        found.basis.finding.original.context.update(PLAIN_CONTEXT)
        assert build_assertion(found, None).by_size is is_small
