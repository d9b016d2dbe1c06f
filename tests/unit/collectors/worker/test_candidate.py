"""What is changed around a candidate's text, and what is said of how it ended."""

from __future__ import annotations

from typing import Any

import pytest

from collectors.protocol.failure import name_signal
from collectors.protocol.variation import CompileArguments
from collectors.worker import candidate


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"backend": "eager"}, {"backend": "eager", "dynamic": True}),
        ({"mode": None}, {"mode": None, "options": {"a": 1}, "dynamic": True}),
        ({"dynamic": False}, {"mode": "m", "options": {"a": 1}, "dynamic": False}),
        (
            {"backend": "inductor"},
            {"backend": "inductor", "mode": "m", "options": {"a": 1}, "dynamic": True},
        ),
    ],
)
def test_overrides_replace_arguments(arguments: CompileArguments, expected: dict[str, Any]) -> None:
    def compile(model: object, **given: Any) -> dict[str, Any]:
        return given

    replaced = candidate.override_compile(compile, arguments)
    assert replaced(None, mode="m", options={"a": 1}, dynamic=True) == expected


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("torch._higher_order_ops.utils", {"backend": "eager", "fullgraph": True}),
        ("torch.nn.attention.flex_attention", {"backend": "eager", "fullgraph": True}),
        ("torch.nn.modules.module", {"backend": "aot_eager", "fullgraph": True}),
        ("__main__", {"backend": "aot_eager", "fullgraph": True}),
    ],
)
def test_what_torch_compiles_in_eager_mode_stays_as_it_is(
    module: str, expected: dict[str, Any]
) -> None:
    """`torch.while_loop` compiles its body where nobody asked for it: under another backend the
    eager run of a repro failed like the compiled one, so that nothing could be told."""

    def compile(model: object, **given: Any) -> dict[str, Any]:
        return given

    names = {
        "__name__": module,
        "compile": candidate.override_compile(compile, {"backend": "aot_eager"}),
    }
    exec("result = compile(None, backend='eager', fullgraph=True)", names)
    assert names["result"] == expected


def test_a_signal_has_its_name_or_its_number() -> None:
    assert name_signal(11) == "SIGSEGV"
    assert name_signal(200) == "signal 200"
