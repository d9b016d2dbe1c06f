"""A kernel gets small."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from reporter.kernels.reduce import KernelCandidate, reduce_kernel
from tests.support.scripts import text


def test_reduction_leaves_what_the_failure_needs() -> None:
    launch: dict[str, Any] = {
        "signature": {"ptr1": "*fp32", "arg1": "i32", "SIZE1": "constexpr"},
        "constexprs": {"SIZE1": 64},
        "aligned": ["ptr1", "arg1"],
        "options": {},
    }

    def attempt(kernels: Sequence[KernelCandidate]) -> list[bool]:
        return ["tl.arange(0, SIZE1)" in kernel.text for kernel in kernels]

    small = reduce_kernel(
        KernelCandidate(text("kernels/loop_with_a_helper"), "kernel1", launch), attempt
    )
    assert small.statements == 1 and "helper1" not in small.text
    assert list(small.launch["signature"]) == ["SIZE1"] and small.launch["aligned"] == []


def test_a_chain_of_operations_is_shortened() -> None:
    launch: dict[str, Any] = {
        "signature": {"ptr1": "*fp32"},
        "constexprs": {},
        "aligned": [],
        "options": {},
    }

    def attempt(kernels: Sequence[KernelCandidate]) -> list[bool]:
        """As a compiler: names must exist, and what is not stored is left out."""
        found = []
        for kernel in kernels:
            body = ast.parse(kernel.text).body[0]
            stored = {
                n.id
                for n in ast.walk(body)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            read = {
                n.id
                for n in ast.walk(body)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
            }
            defined = {name for name in read if name.startswith("value")} <= stored
            found.append(
                defined
                and "tl.exp" in kernel.text
                and "tl.load(ptr1)" in kernel.text
                and "tl.store(ptr1, value4)" in kernel.text
            )
        return found

    small = reduce_kernel(KernelCandidate(text("kernels/chain"), "kernel1", launch), attempt)
    assert small.statements == 3 and "0.5" not in small.text
