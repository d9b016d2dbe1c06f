"""Modes of a program, which see what torch is asked to do."""

from __future__ import annotations

import contextlib
from typing import Iterator, List

import torch
from torch.utils._python_dispatch import _disable_current_modes


@contextlib.contextmanager
def leave_modes() -> Iterator[None]:
    """Runs the body where no mode of the program sees it, nor `torch.jit.trace`.

    Tensors of the program's own classes go on deciding what is done with them.
    """
    functions: List[object] = []
    while torch._C._len_torch_function_stack():
        functions.append(torch._C._pop_torch_function_stack())
    traced = torch._C._get_tracing_state()
    if traced is not None:
        torch._C._set_tracing_state(None)
    try:
        with _disable_current_modes():
            yield
    finally:
        if traced is not None:
            torch._C._set_tracing_state(traced)
        for mode in reversed(functions):
            torch._C._push_on_torch_function_stack(mode)
