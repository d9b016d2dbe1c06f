"""Stock functions that stand where the private model has an operation that nobody can look into.

A stand-in takes the same tensors and gives results of the same shapes, dtypes and strides. What it
computes is another matter, so it counts only if the failure is still there; as a registered
operator it is as opaque to the compiler as the private one was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anonymizer.graph.expressions import NotPublicError
from anonymizer.graph.ir import TensorMeta
from anonymizer.graph.layouts import compute_contiguous_strides
from anonymizer.graph.repro import indent

_NAMES = ("x", "y", "z", "w")
_TENSOR = "torch.Tensor"


def write_stand_in(
    name: str,
    what: str,
    given: Sequence[TensorMeta],
    results: Any,
    mutates: Sequence[int],
    registered: bool = False,
) -> list[str]:
    """The definition of a stand-in for an operation that nobody can look into.

    Args:
        name: what the stand-in is called.
        what: it stands for; said in a comment.
        given: metadata of the tensors that it is given.
        results: metadata of what it returns: of one tensor, a tuple of those, or None.
        mutates: indices of the arguments that it changes.
        registered: whether it is an operator of torch.library.

    Raises:
        NotPublicError: it returns something besides tensors, or is registered with a gradient.
    """
    names = _choose_names(len(given))
    read = [(n, m) for i, (n, m) in enumerate(zip(names, given)) if i not in mutates]
    read = read or list(zip(names, given))
    body = [
        f"# Stands for {what} of the original model: only shapes, dtypes and strides are the same."
    ]
    body += [f"{names[i]}.copy_({_write_value(given[i], read)})" for i in mutates]
    several = isinstance(results, tuple)
    made = [] if results is None else [*results] if several else [results]
    if any(not isinstance(meta, TensorMeta) for meta in made):
        raise NotPublicError("an operation with results of an unusual kind")
    values = [_write_value(meta, read) for meta in made]
    shown = f"return {', '.join(values)}{',' if several and len(values) == 1 else ''}"
    body += [shown] if values else []
    if not registered:
        return [f"def {name}({', '.join(names)}):", *indent(body)]
    if any(meta.requires_grad for meta in made):
        raise NotPublicError("an operator with a gradient of its own")
    tensors = ", ".join([_TENSOR] * len(made))
    kind = f"tuple[{tensors}]" if several else tensors or "None"
    return [
        *_write_operator_head(name, names, [names[i] for i in mutates], kind),
        *indent(body),
        "",
        "",
        f"@{name}.register_fake",
        f"def _({', '.join(names)}):",
        f"    {shown if values else 'return None'}",
    ]


def _choose_names(count: int) -> list[str]:
    return [*_NAMES[:count]] if count <= len(_NAMES) else [f"x{index}" for index in range(count)]


def _write_operator_head(
    name: str, parameters: Sequence[str], changed: Sequence[str], kind: str
) -> list[str]:
    """The lines above the body of an operator of torch.library, which returns a `kind`."""
    typed = ", ".join(f"{each}: {_TENSOR}" for each in parameters)
    quoted = ", ".join(f'"{each}"' for each in changed) + ("," if len(changed) == 1 else "")
    return [
        f'@torch.library.custom_op("repro::{name}", mutates_args=({quoted}))',
        f"def {name}({typed}) -> {kind}:",
    ]


def _write_value(meta: TensorMeta, read: Sequence[tuple[str, TensorMeta]]) -> str:
    """An expression of a tensor like `meta`, made of what there is."""
    alike = [(n, m) for n, m in read if m.shape == meta.shape]
    if alike:
        terms = [n if m.dtype == meta.dtype else f"{n}.to(torch.{meta.dtype})" for n, m in alike]
        text = " + ".join(terms)
        fresh = len(terms) > 1 or alike[0][1].dtype != meta.dtype
        stride = alike[0][1].stride if len({m.stride for _, m in alike}) == 1 else None
        if stride == meta.stride:
            return text if fresh else f"{text}.clone()"
        text = f"({text})" if len(terms) > 1 else text
    else:
        creation = f"{read[0][0]}.new_zeros" if read else "torch.zeros"
        text = f"{creation}({meta.shape}, dtype=torch.{meta.dtype})"
        floats = [n for n, m in read if m.is_float]
        if floats and meta.is_float:
            text = f"{text} + {floats[0]}.mean().to(torch.{meta.dtype})"
    if meta.stride is not None and meta.stride != compute_contiguous_strides(meta.shape):
        empty = f"torch.empty_strided({meta.shape}, {meta.stride}, dtype=torch.{meta.dtype})"
        return f"{empty}.copy_({text})"
    return f"{text}.contiguous()" if alike else text
