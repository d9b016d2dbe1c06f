"""`create` on programs that go to torch by another door than `torch.compile`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.created import check_report, check_smallest, create
from tests.support.places import DATA

#: Names in these programs that torch or a repro has, too.
PUBLIC = ("Model", "backward", "grad", "setup_context", "generate_vmap_rule", "jvp")


@pytest.mark.parametrize(
    ("name", "kind", "layers", "lines", "said"),
    [
        ("eager/index_reduce_mean_bfloat16", "wrong_result", {"eager"}, 8, "index_reduce"),
        pytest.param(
            *("eager/segment_reduce_empty_offsets", "process_death", {"eager"}, 4, "SIG"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("eager/device_op_with_index", "crash", {"eager"}, 2, "INTERNAL ASSERT FAILED"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("eager/complex_gate", "wrong_result", {"eager"}, 7, "F.silu: wrong result"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("aoti_onnx/aoti_counter_buffer", "wrong_result", {"aoti"}, 15, "in range(2)"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("aoti_onnx/aoti_moving_average", "wrong_result", {"aoti"}, 15, "in range(2)"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("export/saved_version_output", "crash", {"export"}, 13, "torch.export"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("export/saved_full_batch", "crash", {"export"}, 11, "torch.export"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("export/copy_of_tensor", "crash", {"export", "dynamo"}, 9, "torch.export"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("export/strided_slice_dynamic", "crash", {"export"}, 7, "slice"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("export/strided_slice_in_a_model", "crash", {"export"}, 7, "slice"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("export/size_of_one_in_range", "crash", {"export"}, 11, "exported program raises"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("export/gradient_of_own_function", "wrong_gradient", {"export"}, 18, "gradient"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("aoti_onnx/aoti_index_out_of_range", "process_death", {"inductor"}, 7, "SIGABRT"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("aoti_onnx/aoti_min_uint8_rows", "wrong_result", {"inductor"}, 7, "min"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(
                "derivatives/weight_norm_second_derivative",
                "wrong_gradient",
                {"eager"},
                8,
                "gradgrad",
            ),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(
                "derivatives/sinc_second_derivative_at_zero",
                "wrong_gradient",
                {"eager"},
                8,
                "second derivative",
            ),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(
                "derivatives/dual_tensor_loses_its_tangent",
                "wrong_gradient",
                {"inductor"},
                14,
                "forward mode",
            ),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(
                "derivatives/layer_norm_second_derivative",
                "wrong_gradient",
                {"eager"},
                8,
                "layer_norm",
            ),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(
                "derivatives/householder_product_of_a_singular_reflector",
                "wrong_gradient",
                {"eager"},
                5,
                "householder_product",
            ),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(
                "derivatives/own_function_in_nested_forward_mode",
                "wrong_gradient",
                {"eager"},
                23,
                "torch.autograd.Function: wrong second derivative in nested forward mode",
            ),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("ranks/one_rank_min_uint8", "wrong_result", {"inductor"}, 7, "min"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("ranks/ddp_darkest_level", "wrong_result", {"inductor"}, 5, "min"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("ranks/fsdp_flag_becomes_bool", "wrong_metadata", {"inductor"}, 5, "any"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_report_has_the_few_lines_that_show_the_failure(
    name: str, kind: str, layers: set[str], lines: int, said: str, tmp_path: Path
) -> None:
    created = create(f"{name}/script", tmp_path, scripts=DATA / "doors")
    check_report(created, public=PUBLIC)
    verdict = created.document["verdict"]
    assert verdict["kind"] == kind
    assert verdict["layer"] in layers
    assert len([line for line in created.repro.splitlines() if line.strip()]) <= lines
    assert said in (created.folder / "issue.md").read_text()
    check_smallest(created)


@pytest.mark.onnx
def test_a_model_that_onnx_runtime_refuses_keeps_the_name_that_it_fails_with(
    tmp_path: Path,
) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    name = "aoti_onnx/onnx_output_named_like_a_node"
    created = create(f"{name}/script", tmp_path, scripts=DATA / "doors")
    check_report(created)
    assert created.document["verdict"]["kind"] == "crash"
    assert created.document["verdict"]["layer"] == "onnx"
    assert 'output_names=["softmax"]' in created.repro
    assert len([line for line in created.repro.splitlines() if line.strip()]) <= 9
    check_smallest(created)
