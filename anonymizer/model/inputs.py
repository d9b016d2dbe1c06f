"""What a rewritten model is fed: tensors of the shapes, layouts and aliases that the recorded call
got, for each of its calls.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from anonymizer.graph.identifiers import name_size
from anonymizer.graph.ir import TensorMeta
from anonymizer.graph.layouts import write_shared_storage, write_tensor
from anonymizer.graph.recipes import parenthesize_operand
from anonymizer.trace.tree import GivenTensor


class Inputs:
    """Writes the inputs of a model.

    `sizes`: the sizes that change from call to call, by their values in each call.
    """

    def __init__(
        self, given: Mapping[str, GivenTensor], sizes: Mapping[tuple[int, ...], tuple[str, int]]
    ) -> None:
        self.given = given
        self.sizes = sizes

    def write_lines(self, names: Sequence[str], parameters: Mapping[str, str]) -> list[str]:
        """The body of `inputs`: one tensor for each name, those that share memory made as views.

        Args:
            names: given tensors, in the order of the arguments.
            parameters: name of a given tensor -> the variable that it goes in.
        """
        storages: dict[int | str, list[GivenTensor]] = {}
        for name in names:
            given = self.given[name]
            key = name if given.storage is None else given.storage
            storages.setdefault(key, []).append(given)
        if len(storages) == len(names):
            texts = [self._write_input(given, given.meta) for (given,) in storages.values()]
            return [f"return ({', '.join(texts)},)"] if texts else ["return ()"]
        lines: list[str] = []
        for first, *others in storages.values():
            views = [(parameters[o.name], o.meta, o.offset - first.offset) for o in others]
            make = functools.partial(self._write_input, first)
            owner = (parameters[first.name], first.meta)
            lines += write_shared_storage(owner, views, make, f"base{len(lines) or ''}")
        return [*lines, f"return ({', '.join(parameters.values())},)"]

    def _write_input(self, given: GivenTensor, meta: TensorMeta) -> str:
        """The expression of an input, or of a flat tensor like it."""
        dims = self._name_dims(given) if meta is given.meta else meta.shape
        text = write_tensor(meta, given.recipe, dims)
        if given.meta.requires_grad and given.meta.is_float:
            return parenthesize_operand(text) + ".requires_grad_()"
        return text

    def _name_dims(self, given: GivenTensor) -> tuple[int | str, ...]:
        """The sizes of an input, those that change from call to call by their names."""
        return tuple(
            self.sizes[column][0] if (column := _collect_sizes(given, dim)) in self.sizes else size
            for dim, size in enumerate(given.meta.shape)
        )


def _collect_sizes(given: GivenTensor, dim: int) -> tuple[int, ...]:
    """The size of one dimension in each call, oldest first."""
    shapes = [*given.earlier, given.meta.shape]
    return tuple(shape[dim] if dim < len(shape) else -1 for shape in shapes)


def name_varying_sizes(
    given: list[GivenTensor],
) -> tuple[dict[tuple[int, ...], tuple[str, int]], tuple[tuple[tuple[str, int], ...], ...]]:
    """Names for the sizes that change from call to call, and what each call gives them.

    Returns:
        Sizes of one dimension in all calls, oldest first -> its name and its size in the last one;
        and for each call the names with their sizes, in elements.
    """
    columns: dict[tuple[int, ...], tuple[str, int]] = {}
    for item in given:
        for dim, size in enumerate(item.meta.shape):
            column = _collect_sizes(item, dim)
            if len(set(column)) > 1 and -1 not in column and column not in columns:
                columns[column] = (name_size(len(columns)), size)
    if not columns:
        return {}, ()
    times = max(map(len, columns))
    calls = [tuple((name, c[k]) for c, (name, _) in columns.items()) for k in range(times)]
    return columns, tuple(call for i, call in enumerate(calls) if i == 0 or call != calls[i - 1])


def write_attribute(name: str, given: GivenTensor) -> str:
    """The statement of a constructor that makes the attribute `name`, a parameter or a buffer with
    the shape, layout and dtype of the given tensor.
    """
    made = write_tensor(given.meta, given.recipe, given.meta.shape)
    if given.kind != "param":
        return f'self.register_buffer("{name}", {made})'
    suffix = "" if given.meta.requires_grad else ", requires_grad=False"
    return f"self.{name} = nn.Parameter({made}{suffix})"
