"""Memory layouts as people write them: a permuted dense tensor is a transposed one, a view of
another input is a slice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from anonymizer.graph import recipes
from anonymizer.graph.ir import Recipe, TensorMeta


def compute_contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides, in elements, of a contiguous tensor of a shape.

    A dimension of size 0 counts as 1, as in `make_contiguous_strides_for` of torch:
    https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_prims_common/__init__.py
    """
    strides = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))


def is_contiguous(shape: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether a tensor lies in memory like a fresh one.

    The strides of dimensions of size 1 say nothing, nor do those of an empty tensor, as in
    `_compute_contiguous` of torch 2.13.0, `c10/core/Contiguity.h`.

    Args:
        shape: sizes, of which none is negative.
        stride: in elements, one for each size.
    """
    places = zip(shape, stride, compute_contiguous_strides(shape))
    return 0 in shape or all(size == 1 or step == usual for size, step, usual in places)


def order_dimensions(stride: Sequence[int]) -> list[int]:
    """The dimensions as they lie in memory, the outermost first."""
    return sorted(range(len(stride)), key=lambda dim: (-stride[dim], dim))


def compute_extent(shape: Sequence[int], stride: Sequence[int]) -> int:
    """How many elements lie between the first one of a tensor and the last, both included; 0 for an
    empty one.

    Args:
        shape: sizes.
        stride: in elements, one for each size.
    """
    return 0 if 0 in shape else 1 + sum((size - 1) * step for size, step in zip(shape, stride))


def write_tensor(meta: TensorMeta, recipe: Recipe, dims: tuple[int | str, ...]) -> str:
    """Python that makes a tensor of the layout, dtype and device of `meta`.

    Args:
        meta: shape and strides in elements; without strides the tensor is contiguous.
        recipe: how its values are made.
        dims: the shape as it is written: a size, or the name of one that changes.
    """

    def make(shape: tuple[int | str, ...]) -> str:
        return recipes.write_contiguous_tensor(recipe, shape, meta.dtype, meta.device)

    if meta.stride is None or is_contiguous(meta.shape, meta.stride):
        return make(dims)
    if recipe.kind == "literal":  # its values are in the order of the dimensions, not of the memory
        return (
            f"torch.empty_strided({meta.shape}, {meta.stride},"
            f" dtype=torch.{meta.dtype}).copy_({make(meta.shape)})"
        )
    if any(stride == 0 and size > 1 for size, stride in zip(meta.shape, meta.stride)):
        base = tuple(1 if stride == 0 else dim for dim, stride in zip(dims, meta.stride))
        return f"{recipes.parenthesize_operand(make(base))}.expand({', '.join(map(str, dims))})"
    order = order_dimensions(meta.stride)
    if is_contiguous([meta.shape[i] for i in order], [meta.stride[i] for i in order]):
        text = recipes.parenthesize_operand(make(tuple(dims[i] for i in order)))
        back = [order.index(i) for i in range(len(dims))]
        return f"{text}.t()" if len(dims) == 2 else f"{text}.permute({', '.join(map(str, back))})"
    flat = recipes.parenthesize_operand(make((compute_extent(meta.shape, meta.stride),)))
    return f"{flat}.as_strided({meta.shape}, {meta.stride})"


def write_shared_storage(
    owner: tuple[str, TensorMeta],
    views: Sequence[tuple[str, TensorMeta, int]],
    make: Callable[[TensorMeta], str],
    base: str,
) -> list[str]:
    """The statements for a tensor and those that lie in its storage: views of it, or all of them of
    a base where some of it lies outside of the first.

    Args:
        owner: the variable of the first, and its metadata.
        views: variable, metadata and offset of each other one, in elements from the first's
            beginning.
        make: the expression of the first, or of a flat tensor like it.
        base: the variable of such a flat tensor.
    """

    def find_end(meta: TensorMeta) -> int:
        return compute_extent(meta.shape, meta.stride or compute_contiguous_strides(meta.shape))

    name, of = owner
    places = [(name, of, 0), *views]
    start = min(offset for _, _, offset in places)
    end = max(offset + find_end(meta) for _, meta, offset in places)
    if start == 0 and end <= find_end(of):
        places = places[1:]
    else:
        name, of = base, replace(of, shape=(end - start,), stride=(1,))
    lines = [f"{name} = {make(of)}"]
    return [
        *lines,
        *(f"{each} = {write_view(name, of, m, offset - start)}" for each, m, offset in places),
    ]


def write_view(owner: str, of: TensorMeta, meta: TensorMeta, offset: int) -> str:
    """The expression of a tensor that lies in another one's storage.

    Args:
        owner: the expression of the other tensor.
        of: its metadata.
        meta: metadata of the view.
        offset: from the beginning of the owner, in elements.

    Returns:
        `owner[k:]` or `owner[k:m]` where that is the view, else `owner.as_strided(…)`.
    """
    step = of.stride[0] if of.stride else 0
    start, rest = divmod(offset, step) if step else (0, offset)
    if (
        of.stride
        and meta.stride == of.stride
        and meta.shape[1:] == of.shape[1:]
        and meta.shape
        and rest == 0
    ):
        if start + meta.shape[0] == of.shape[0]:
            return f"{owner}[{start}:]" if start else owner
        return f"{owner}[{start or ''}:{start + meta.shape[0]}]"
    return f"{owner}.as_strided({meta.shape}, {meta.stride}, {offset})"
