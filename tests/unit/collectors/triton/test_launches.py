"""A launch as Triton's compiler sees it."""

from __future__ import annotations

from typing import Any

import pytest

from collectors.triton.launches import Launches


class _Tensor:
    """What a launch looks at of a tensor."""

    def __init__(self, dtype: str, address: int = 64) -> None:
        self.dtype, self.shape, self.device = f"torch.{dtype}", (4,), self
        self.type, self._address = "cpu", address

    def data_ptr(self) -> int:
        return self._address

    def stride(self) -> tuple[int, ...]:
        return (1,)


class _Kernel:
    def __init__(self, **options: Any) -> None:
        self.do_not_specialize = options.get("do_not_specialize")

    @staticmethod
    def fn(pointer: Any, size: Any, step: Any) -> None:
        """Computes nothing."""


@pytest.mark.parametrize(
    ("dtype", "name"),
    [("float32", "*fp32"), ("uint32", "*u32"), ("uint16", "*u16"), ("float8_e4m3fnuz", "*fp8e4b8")],
)
def test_a_tensor_has_the_type_of_its_elements(dtype: str, name: str) -> None:
    seen = Launches()
    seen.note(_Kernel(), (_Tensor(dtype), 32, 7), {})
    assert seen.rows[0]["signature"] == {"pointer": name, "size": "i32", "step": "i32"}
    assert seen.rows[0]["aligned"] == ["pointer", "size"]


@pytest.mark.parametrize(
    ("given", "kind", "constants"),
    [(None, "constexpr", {"step": 1}), (["step"], "i32", {}), ([2], "i32", {})],
)
def test_one_is_a_constant_unless_triton_is_not_to_look(
    given: Any, kind: str, constants: dict[str, int]
) -> None:
    seen = Launches()
    seen.note(_Kernel(do_not_specialize=given), (_Tensor("float32"), 32, 1), {})
    assert seen.rows[0]["signature"]["step"] == kind
    assert seen.rows[0]["constexprs"] == seen.constants[0] == constants


def test_what_has_no_name_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.triton.launches._is_constant", lambda value: False)
    seen = Launches()
    seen.note(_Kernel(), (_Tensor("float32"), (4, 4), 7), {})
    seen.note(_Kernel(), (_Tensor("complex64"), 4, 7), {})
    told = [row["unknown"] for row in seen.rows]
    assert told == ["size (tuple)", "pointer (a tensor of complex64)"]
