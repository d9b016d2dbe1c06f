"""Facts about a program that excuse a difference: undefined casts, uninitialized memory, random
numbers, ties.

Eager mode is watched operator by operator. A float outside the range of the integer type it is cast
to has no defined value in C++, of two writes to one place any may stay (`undefined_writes`), and
`empty` memory holds whatever was there: where results come from those, eager and compiled may
differ and neither is wrong. An output that is an index (`argmax`, `sort`, `topk`, …) is remembered
with what it indexes: where values tie, another index is as right.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch.utils._pytree import tree_flatten

from ..machine.dispatcher_mode import DispatcherMode
from ..machine.files import write_whole
from ..machine.public_names import shorten_name
from ..machine.random_state import RandomState, has_torch_drawn, read_torch_generators
from ..machine.tensors import read_version_counter
from ..protocol.calls import EagerFacts, LostWrite
from ..protocol.words import UndefinedCast
from . import outputs, undefined_writes
from .tolerance import IndexedValues
from .variations.summation import SUMS

#: Operators whose result holds indices along a dimension of their first argument: where `dim`
#: stands, its default.
_INDEXING = {
    "argmax": (1, None),
    "argmin": (1, None),
    "argsort": (1, -1),
    "sort": (1, -1),
    "topk": (2, -1),
    "max": (1, None),
    "min": (1, None),
    "kthvalue": (2, -1),
    "median": (1, None),
    "nanmedian": (1, None),
    "mode": (1, -1),
    "cummax": (1, None),
    "cummin": (1, None),
}
_CASTS = ("_to_copy", "copy_", "to")
#: Operators that hand out memory which nothing has written to.
EMPTY = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "resize_")


class _Indexing(NamedTuple):
    values: torch.Tensor
    dim: int
    stable: bool
    kept: torch.Tensor
    source: torch.Tensor
    version: int


class EagerFactsMode(DispatcherMode):
    def __init__(self) -> None:
        super().__init__()
        self.undefined_casts: List[UndefinedCast] = []
        self.lost_writes: List[LostWrite] = []
        self.undeclared_writes: List[str] = []
        self.uninitialized: List[str] = []
        self.random: List[str] = []
        self.operators: List[str] = []
        self.coarse = False
        self.sums = False
        self.cuda = False
        self.indices: Dict[int, _Indexing] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        seeded = torch.Tag.nondeterministic_seeded in getattr(func, "tags", ())
        generator = (kwargs or {}).get("generator")
        before = read_torch_generators(generator) if seeded else []
        copies = undefined_writes.copy_unnamed(func, args, kwargs)
        result = func(*args, **(kwargs or {}))
        if copies and undefined_writes.find_undeclared(copies, func, args, kwargs):
            self.undeclared_writes.append(shorten_name(func))
        name = str(func)
        self.operators.append(name)
        short = shorten_name(func)
        inputs = [
            leaf for leaf in tree_flatten((args, kwargs or {}))[0] if isinstance(leaf, torch.Tensor)
        ]
        results = [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, torch.Tensor)]
        if short in EMPTY:
            self.uninitialized.append(short)
        # attention carries the tag too, and draws nothing without dropout
        if seeded and has_torch_drawn(before, generator):
            self.random.append(short)
        if any(tensor.dtype in (torch.float16, torch.bfloat16) for tensor in results):
            self.coarse = True
        if short in SUMS and any(tensor.is_floating_point() for tensor in results):
            self.sums = True
        if any(tensor.is_cuda for tensor in (*inputs, *results)):
            self.cuda = True
        if short in _CASTS and inputs and results:
            self._note_cast(inputs[-1], results[0])
        write = undefined_writes.find_write(func, args, kwargs or {}, result)
        if write is not None and write.lost:
            self.lost_writes.append(
                {"by": short.strip("_"), "elements": write.lost, "of": write.of}
            )
        if short in _INDEXING and inputs:
            self._note_index(func, short, args, kwargs or {}, results)
        return result

    def run_higher_order(
        self, operator: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]
    ) -> object:
        before = read_torch_generators()
        result = super().run_higher_order(operator, args, kwargs)
        name = str(operator)
        self.operators.append(name)
        if has_torch_drawn(before):
            self.random.append(name)
        results = [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, torch.Tensor)]
        # what it does inside is not seen, so whatever may be in it is taken to be there
        self.coarse |= any(leaf.dtype in (torch.float16, torch.bfloat16) for leaf in results)
        self.sums |= any(leaf.is_floating_point() for leaf in results)
        self.cuda |= any(leaf.is_cuda for leaf in results)
        return result

    def _note_index(
        self, func: Any, short: str, args: Any, kwargs: Any, results: List[Any]
    ) -> None:
        """Remembers what an index result indexes; the result is kept alive so that its memory stays
        its own.
        """
        index = results[-1]
        if index.dtype != torch.int64 or len(results) < 2 and not short.startswith("arg"):
            return
        position, default = _INDEXING[short]
        stable = bool(kwargs.get("stable"))
        if short in ("sort", "argsort") and "stable" in str(func):
            position = 2 if len(args) > 1 and isinstance(args[1], (bool, type(None))) else position
            stable = stable or len(args) > 1 and args[1] is True
        dim = kwargs.get("dim", args[position] if len(args) > position else default)
        values = args[0].detach()
        if dim is None:
            values, dim = values.flatten(), 0
        version = read_version_counter(args[0])
        entry = _Indexing(values, int(dim), stable, index, args[0], version)
        self.indices[index.untyped_storage().data_ptr()] = entry

    def _note_cast(self, source: torch.Tensor, target: torch.Tensor) -> None:
        outside = _find_undefined(source, target)
        if outside is not None and bool(outside.any()):
            self.undefined_casts.append(
                {
                    "from": str(source.dtype),
                    "to": str(target.dtype),
                    "elements": int(outside.sum().item()),
                    "of": source.numel(),
                }
            )


def _find_undefined(source: torch.Tensor, target: torch.Tensor) -> Optional[torch.Tensor]:
    """Which elements of a cast C++ leaves undefined; None if the types leave none."""
    if not source.dtype.is_floating_point or source.numel() == 0:
        return None
    if target.dtype.is_floating_point or target.dtype.is_complex or target.dtype == torch.bool:
        return None
    info = torch.iinfo(target.dtype)
    wide = source.detach().double()
    return ~torch.isfinite(wide) | (wide <= float(info.min) - 1) | (wide >= float(info.max) + 1)


def _find_ties(watch: EagerFactsMode, result: Any) -> Dict[int, IndexedValues]:
    """By number of the output: what it indexes."""
    found: Dict[int, IndexedValues] = {}
    for number, (_, leaf) in enumerate(outputs.flatten(result)):
        if isinstance(leaf, torch.Tensor) and leaf.dtype == torch.int64 and leaf.numel():
            entry = watch.indices.get(leaf.untyped_storage().data_ptr())
            if entry is None or entry.version != read_version_counter(entry.source):
                continue  # what is there now is not what was indexed
            if entry.kept.shape == leaf.shape:
                values = entry.values.cpu()
                found[number] = {
                    "values": values,
                    "dim": entry.dim % max(1, values.dim()),
                    "stable": entry.stable,
                }
    return found


def collect_facts(call: Any, path: Optional[str] = None) -> EagerFacts:
    """What one eager run of the call met: see the module's key idea. Runs in a forked child.

    Args:
        call: the recorded call, which is made; nothing is put back.
        path: the file for what index outputs index; `ties` tells whether there is any. None: that
            is not looked for.
    """
    watch = EagerFactsMode()
    given = (call.args, call.kwargs)
    drawn = RandomState.read()
    error = None
    ties: Dict[int, IndexedValues] = {}
    try:
        with watch:
            result = call.function(*call.args, **call.kwargs)
        ties = _find_ties(watch, result) if path else {}
    except Exception as raised:  # an invalid program is judged by its eager rung, not here
        error = type(raised).__name__
    return {
        "undefined_casts": watch.undefined_casts[:20],
        "lost_writes": watch.lost_writes[:20],
        "undeclared_writes": sorted(set(watch.undeclared_writes))[:20],
        "uninitialized": sorted(set(watch.uninitialized)),
        "random": sorted(set(watch.random)),
        "streams": [name for name in drawn.find_moved() if name != "torch"],
        "operators": len(watch.operators),
        "coarse": watch.coarse,
        "sums": watch.sums,
        "cuda": watch.cuda,
        "dual": any(outputs.find_tangent(leaf) is not None for leaf in tree_flatten(given)[0]),
        "ties": _save(ties, path),
        "error": error,
    }


def find_undefined(run: Callable[[Callable[[Any], Any]], Any]) -> List[str]:
    """What an eager run has in it that torch or C++ leave undefined, or to chance: "casts",
    "draws", "writes".

    `run` is given what makes the callable of a program's model; what is drawn for weights and
    inputs is no part of the call.
    """
    whole, called = EagerFactsMode(), EagerFactsMode()

    def follow(model: Any) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with called:
                return model(*args, **kwargs)

        return call

    with whole:
        run(follow)
    met = {"casts": whole.undefined_casts, "draws": called.random, "writes": whole.lost_writes}
    return [name for name, found in met.items() if found]


class FillMemoryMode(DispatcherMode):
    """Memory that is handed out unwritten holds NaN (or the largest integer): a result that moves
    has read it.

    In a fork the same garbage comes back every time, so running twice does not show it.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = args[0].numel() if "resize_" in str(func) and args else 0
        result = func(*args, **(kwargs or {}))
        if shorten_name(func) in EMPTY:
            for tensor in tree_flatten(result)[0]:
                if isinstance(tensor, torch.Tensor) and tensor.numel() > before:
                    _poison(tensor if not before else tensor.flatten()[before:])
        return result


class ZeroMemoryMode(DispatcherMode):
    """Memory that is handed out unwritten holds zeros: a program that is right with them has read
    it.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        short = shorten_name(func)
        if short in EMPTY and not short.endswith("_"):
            for tensor in tree_flatten(result)[0]:
                if isinstance(tensor, torch.Tensor):
                    tensor.zero_()
        return result


class RecastMode(DispatcherMode):
    """Casts give another value wherever C++ leaves it undefined: a result that moves depends on
    it.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if shorten_name(func) in _CASTS:
            tensors = [leaf for leaf in tree_flatten(args)[0] if isinstance(leaf, torch.Tensor)]
            outside = _find_undefined(tensors[-1], result) if tensors else None
            if outside is not None:
                result.bitwise_xor_(85 * outside.expand(result.shape).to(result.dtype))
        return result


def _poison(tensor: torch.Tensor) -> None:
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        tensor.fill_(float("nan"))
    elif tensor.dtype == torch.bool:
        tensor.fill_(True)
    else:
        tensor.fill_(torch.iinfo(tensor.dtype).max)


def _save(ties: Dict[int, IndexedValues], path: Optional[str]) -> bool:
    if not ties or path is None:
        return False
    with write_whole(path) as part:
        torch.save(ties, part)
    return True
