"""The same program on other numbers: everything in float64, or its inputs off by a last bit."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Dict, Iterator

import torch


def convert_to_double(tensors: Dict[str, torch.Tensor]) -> None:
    """Turns every reachable floating-point tensor into float64 in place, and every complex one into
    complex128, keeping views of one storage views of one.
    """
    groups: Dict[int, torch.Tensor] = {}
    old = []  # a freed storage's address would be given out again and taken for the same storage
    for tensor in tensors.values():
        wide = torch.complex128 if tensor.dtype.is_complex else torch.float64
        is_number = tensor.dtype.is_floating_point or tensor.dtype.is_complex
        if not is_number or tensor.dtype == wide or tensor.layout != torch.strided:
            continue
        size, stride, offset = tensor.size(), tensor.stride(), tensor.storage_offset()
        key = tensor.untyped_storage().data_ptr()
        if key not in groups:
            count = tensor.untyped_storage().nbytes() // tensor.element_size()
            flat = torch.as_strided(tensor.detach(), (count,), (1,), 0)
            old.append(flat)
            groups[key] = flat.to(wide)
        tensor.data = torch.as_strided(groups[key], size, stride, offset)


def perturb(tensors: Dict[str, torch.Tensor], signs: Callable[[int], torch.Tensor]) -> None:
    """Moves floating-point elements by about one unit in the last place, in place; of complex ones
    the real and the imaginary part.

    Args:
        tensors: strided ones are changed, on any device; of those that share memory, the first.
        signs: is given a number of elements and returns a tensor of so many directions, 1 or -1;
            its dtype and device do not matter.
    """
    done = set()
    for tensor in tensors.values():
        is_number = tensor.dtype.is_floating_point or tensor.dtype.is_complex
        if not is_number or tensor.layout != torch.strided:
            continue
        key = tensor.untyped_storage().data_ptr()
        if key in done or not tensor.numel():
            continue
        done.add(key)
        eps = torch.finfo(tensor.dtype).eps
        with torch.no_grad():
            data = tensor.detach()
            if data.is_complex():
                data = torch.view_as_real(data.resolve_conj())
            turns = signs(data.numel()).reshape(data.shape)
            turns = turns.to(device=data.device, dtype=data.dtype)
            with contextlib.suppress(RuntimeError):
                data.copy_(data * (1 + turns * eps))


def make_alternating_signs(first: int) -> Callable[[int], torch.Tensor]:
    """Up and down (`first` 1) or down and up (-1)."""
    return lambda count: first * (1 - 2 * (torch.arange(count, device="cpu") % 2))


def make_random_signs(seed: int) -> Callable[[int], torch.Tensor]:
    """A direction of its own for each element; torch's own generators are left alone."""
    generator = torch.Generator().manual_seed(seed)
    return lambda count: 1 - 2 * torch.randint(0, 2, (count,), generator=generator, device="cpu")


@contextlib.contextmanager
def promote() -> Iterator[None]:
    """Low-precision dtypes named inside the program become float64 or complex128, and autocast
    regions do nothing.
    """
    from torch.overrides import TorchFunctionMode

    low = {torch.float16, torch.bfloat16, torch.float32}
    wide = {**dict.fromkeys(low, torch.float64), torch.complex64: torch.complex128}
    casts = {torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16}

    randoms = {torch.randn, torch.rand}

    def lift(value: Any) -> Any:
        return wide.get(value, value) if isinstance(value, torch.dtype) else value

    class PromoteMode(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func in casts:
                return torch.Tensor.double(args[0])
            if func in randoms and (kwargs or {}).get("dtype") is None:
                # the same random stream as in float32, then widened
                return func(*args, **{**(kwargs or {}), "dtype": torch.float32}).double()
            kwargs = {key: lift(value) for key, value in (kwargs or {}).items()}
            return func(*[lift(value) for value in args], **kwargs)

    from torch.amp import autocast_mode

    saved = autocast_mode.autocast.__enter__, autocast_mode.autocast.__exit__
    autocast_mode.autocast.__enter__ = lambda self: self
    autocast_mode.autocast.__exit__ = lambda self, *details: None
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with PromoteMode():
            yield
    finally:
        torch.set_default_dtype(default)
        autocast_mode.autocast.__enter__, autocast_mode.autocast.__exit__ = saved
