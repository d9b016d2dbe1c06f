"""What is said about the machine: quick, complete enough, and without a name of anybody."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import pytest
import torch

from collectors.machine import internal_names, vocabulary
from reporter.report.environment import build_public_environment, list_withheld
from tests.support import interpreter
from tests.support.environments import check_settings, check_superset, probe


def test_it_is_a_superset_of_collect_env() -> None:
    check_superset(interpreter.WARM)


def test_changed_settings_are_told_and_nobody_is_named() -> None:
    check_settings(interpreter.WARM)


def test_packages_are_those_of_a_public_list(tmp_path: Path) -> None:
    for name in ("acme_torch", "torch_acme", "torchmetrics"):
        folder = tmp_path / f"{name}-1.2.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2+acme.7\n"
        )
    found = probe(interpreter.WARM, "packages", tmp_path)
    left = build_public_environment(found)
    assert left["packages"]["torchmetrics"] == "1.2+local"
    assert "acme" not in json.dumps(left)
    assert {"acme-torch", "torch-acme", "1.2+acme.7"} <= set(list_withheld(found))


def test_variables_are_told_by_an_allow_list_and_with_harmless_values() -> None:
    found = probe(interpreter.WARM, "variables")
    assert found["variables"]["OMP_NUM_THREADS"] == "3"
    assert found["variables"]["OMP_PLACES"] == "cores"
    assert found["variables"]["TORCH_COMPILE_DEBUG"] == "(set)"
    left = json.dumps(build_public_environment(found))
    assert "secret" not in left and "MY_API_TOKEN" not in left


def test_of_torch_variables_only_registered_words_leave() -> None:
    found = probe(interpreter.WARM, "torch_variables")
    assert found["variables"] == {
        "CUDA_VISIBLE_DEVICES": "0,1",
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        "KMP_AFFINITY": "granularity=fine,compact,1,0,(set)",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        "TORCHDYNAMO_REPRO_AFTER": "aot",
        "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_SEARCH_SPACE": "EXHAUSTIVE",
        "TORCH_COMPILE_JOB_ID": "(set)",
        "TORCH_LOGS": "+dynamo,recompiles,+torch._inductor.config,(set),(set)",
    }
    assert found["configs"]["torch._inductor.config.cpp.cxx"] == "(changed)"
    assert found["configs"]["torch._inductor.config.max_autotune_gemm_search_space"] == "EXHAUSTIVE"
    assert "torch._inductor.config.cpp.cxx" not in found["choices"]
    assert "torch._inductor.config.max_autotune_gemm_search_space" in found["choices"]
    assert found["compiler"] == found["tools"]["compiler"] and found["compiler"].startswith("g++ ")
    assert "falconridge" not in json.dumps(build_public_environment(found))


def test_texts_that_functions_take_and_fields_of_results_are_public() -> None:
    drivers = {"gels", "gelsy", "gelsd", "gelss", "use_mm_for_euclid_dist", "hamming"}
    fields = {"solution", "singular_values", "logabsdet", "eigenvectors"}
    assert drivers | fields <= set(vocabulary.collect_vocabulary())


def test_what_a_program_hangs_into_torch_has_no_public_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def kiln(driver: str) -> None:
        """Takes 'zorblax' or 'quorum'."""

    monkeypatch.setattr(torch.nn.functional, "kiln", kiln, raising=False)
    assert not {"zorblax", "quorum"} & set(vocabulary.collect_vocabulary())


def test_names_of_settings_are_public() -> None:
    importlib.import_module("torch._inductor.config")
    assert {"max_fusion_size", "inject_relu_bug_TESTING_ONLY"} <= set(
        internal_names.collect_internal_names()
    )


def test_addresses_in_the_messages_of_torch_are_public_and_no_others() -> None:
    words = internal_names.collect_internal_names()
    addresses = [word for word in words if "://" in word]
    assert any(word.startswith("https://docs.google.com/document/d/") for word in addresses)
    assert all(re.fullmatch(r"https?://[\w.-]+(/\S*[^.,;:])?", word) for word in addresses)
    assert all(word.isidentifier() for word in words if word not in addresses)


def test_what_higher_order_operators_offer_is_public() -> None:
    importlib.import_module("torch.nn.attention.flex_attention")
    words = {"flex_attention", "score_mod", "nested_compile_region", "while_loop", "scan"}
    assert words <= set(vocabulary.collect_vocabulary())


def test_process_groups_have_public_words_where_a_program_has_one() -> None:
    words = {"init_process_group", "world_size", "find_unused_parameters", "FakeStore"}
    assert "init_process_group" not in vocabulary.collect_vocabulary()
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", rank=0, world_size=1, store=store)
    try:
        assert words <= set(vocabulary.collect_vocabulary())
    finally:
        torch.distributed.destroy_process_group()
