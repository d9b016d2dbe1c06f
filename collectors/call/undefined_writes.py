"""Writes of which torch promises nothing: two to one place, found by reading back what was written,
and those of the program's own operators to arguments that their schemas do not name.

`index_put`, `scatter` and their kin may be given an index more than once. Where the values differ
one of them is lost, and eager and compiled may lose another one: neither is wrong. A compiler may
leave out a write that a schema does not name, or make it to a copy.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from ..machine.dispatcher_mode import DispatcherMode
from .tolerance import find_equal_elements


class _Write:
    """An operator that writes `values` to places; `again` does it once more in the opposite
    order.
    """

    def __init__(
        self, back: torch.Tensor, values: torch.Tensor, again: Callable[[Any, Any], Any]
    ) -> None:
        self.lost = int((~find_equal_elements(back, values.expand_as(back))).sum().item())
        self.of = back.numel()
        self.again = again


def find_write(
    func: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], result: Any
) -> Optional[_Write]:
    """What an operator just wrote; None for one that does not write to places, or adds up what it
    writes there.

    Args:
        func: an overload of an operator, as a dispatch mode is given it.
        args: the call's, with tensors on any device; nothing of it is changed.
        kwargs: never None.
        result: what the operator has returned.

    Returns:
        Its `lost` counts the elements that do not read back as they were written, its `of` all that
        were written. `again(func, kwargs)` writes them to `result` once more in the opposite order.
    """
    name = str(func)
    if not name.startswith("aten.") or not isinstance(result, torch.Tensor):
        return None
    short, _, overload = name[5:].partition(".")
    kind = _KINDS.get(short.strip("_"))
    given = dict(zip((argument.name for argument in func._schema.arguments), args))
    given.update(kwargs)
    if kind is None or given.get("accumulate") or "reduce" in overload or "value" in overload:
        return None
    return kind(given, result)


def _read_index_put(given: Dict[str, Any], result: torch.Tensor) -> Optional[_Write]:
    indices: List[Any] = list(given["indices"])
    used = [place for place, index in enumerate(indices) if index is not None]
    if any(indices[place].dtype in (torch.bool, torch.uint8) for place in used):
        return None  # a mask names no place twice
    back = torch.ops.aten.index.Tensor(result, indices)
    spread = torch.broadcast_tensors(*(indices[place] for place in used))
    together = used == list(range(used[0], used[0] + len(used)))
    first = used[0] if together else 0
    dims = list(range(first, first + spread[0].dim()))

    def repeat(func: Any, kwargs: Dict[str, Any]) -> Any:
        turned = list(indices)
        for place, index in zip(used, spread):
            turned[place] = index.flip(list(range(index.dim())))
        values = given["values"].expand_as(back).flip(dims)
        return func(result, turned, values, **kwargs)

    return _Write(back, given["values"], repeat)


def _read_scatter(given: Dict[str, Any], result: torch.Tensor) -> Optional[_Write]:
    dim, index = given["dim"], given["index"]
    values = given["src"][tuple(slice(0, size) for size in index.shape)]

    def repeat(func: Any, kwargs: Dict[str, Any]) -> Any:
        return func(result, dim, index.flip(dim), values.flip(dim), **kwargs)

    return _Write(result.gather(dim, index), values, repeat)


def _read_index_copy(given: Dict[str, Any], result: torch.Tensor) -> Optional[_Write]:
    dim, index, values = given["dim"], given["index"], given["source"]

    def repeat(func: Any, kwargs: Dict[str, Any]) -> Any:
        return func(result, dim, index.flip(0), values.flip(dim), **kwargs)

    return _Write(result.index_select(dim, index), values, repeat)


def _read_put(given: Dict[str, Any], result: torch.Tensor) -> Optional[_Write]:
    index, values = given["index"].flatten(), given["source"].flatten()

    def repeat(func: Any, kwargs: Dict[str, Any]) -> Any:
        return func(result, index.flip(0), values.flip(0), **kwargs)

    return _Write(result.take(index), values, repeat)


_KINDS: Dict[str, Callable[[Dict[str, Any], torch.Tensor], Optional[_Write]]] = {
    "index_put": _read_index_put,
    "index_put_impl": _read_index_put,
    "unsafe_index_put": _read_index_put,
    "scatter": _read_scatter,
    "index_copy": _read_index_copy,
    "put": _read_put,
}


class ReorderWritesMode(DispatcherMode):
    """Writes that lose a value are done once more in the opposite order: a result that moves
    depends on it.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        write = find_write(func, args, kwargs or {}, result)
        if write is None or not write.lost:
            return result
        return write.again(func, kwargs or {})


#: Namespaces of operators whose schemas are torch's own (2.0 to 2.15, with those of distributed
#: packages). A collective of theirs may fill a tensor that it was given earlier.
_OF_TORCH = frozenset(
    """aten prim prims quantized quantized_decomposed quantization sparse inductor inductor_prims
    rngprims debugprims c10d c10d_functional _c10d_functional _c10d_functional_autograd _dtensor
    fsdp symm_mem mkl mkldnn mkldnn_prepacked onednn prepacked onnx onnx_symbolic profiler streams
    static_runtime export flex_lib debug_mode_ops _native _quantized _test _inductor_test""".split()
)


def copy_unnamed(func: Any, args: Any, kwargs: Any) -> Dict[str, torch.Tensor]:
    """Copies of the tensors that a program's own operator is given and does not name as written to,
    by argument; nothing for an operator of torch.

    Args:
        func: an overload of an operator, as a dispatch mode is given it.
        args: the call's, before it is made.
        kwargs: None stands for none.

    Returns:
        Argument of the schema -> detached copy on the same device. Only strided tensors that have
        data are copied, and none of the quantized ones.
    """
    return {name: value.detach().clone() for name, value in _find_unnamed(func, args, kwargs)}


def find_undeclared(
    before: Dict[str, torch.Tensor], func: Any, args: Any, kwargs: Any
) -> List[str]:
    """The arguments that are not as in their copies, element by element, NaN being equal to NaN.

    Args:
        before: what `copy_unnamed` has returned for the call.
        func: the operator, which has been called since.
        args: the same objects as then, like `kwargs`.
    """
    now = dict(_find_unnamed(func, args, kwargs))
    return [
        name
        for name, value in before.items()
        if not bool(find_equal_elements(now[name].detach(), value).all().item())
    ]


def _find_unnamed(func: Any, args: Any, kwargs: Any) -> List[Tuple[str, torch.Tensor]]:
    if getattr(func, "namespace", "aten") in _OF_TORCH or not hasattr(func, "_schema"):
        return []
    arguments = func._schema.arguments
    given = {**dict(zip((argument.name for argument in arguments), args)), **(kwargs or {})}
    return [
        (argument.name, given[argument.name])
        for argument in arguments
        if _can_be_compared(given.get(argument.name))
        and not (argument.alias_info is not None and argument.alias_info.is_write)
    ]


def _can_be_compared(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.layout == torch.strided
        and value.device.type != "meta"
        and not value.is_quantized
    )


class DropUndeclaredWritesMode(DispatcherMode):
    """Operators of the program's own get copies of what their schemas do not name as written to: a
    result that moves depends on such a write.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = dict(kwargs or {})
        copies = copy_unnamed(func, args, given)
        names = [argument.name for argument in func._schema.arguments] if copies else []
        args = [copies.get(name, value) for name, value in zip(names, args)] if copies else args
        given.update({name: copies[name] for name in given if name in copies})
        return func(*args, **given)
