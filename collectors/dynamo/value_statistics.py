"""What the stand-ins of a graph's tensors must respect: a few numbers of each, never the values
themselves.

Those of intermediates are noted while the graph runs.
"""

from __future__ import annotations

from typing import Any, Collection, Dict, List, Optional, Sequence

import torch
import torch.fx

from ..protocol.captured_values import (
    MOST_VALUES,
    ElementValue,
    TensorStatistics,
    ValueStructure,
)
from . import bodies
from .value_structure import find_padding, find_structure, is_identity, read_number, widen

_WHOLE = 1 << 24
_FEW = 16


def _compute_span(tensor: torch.Tensor) -> Optional[TensorStatistics]:
    """The few numbers that an intermediate's stand-in must respect; None where there is nothing to
    respect.

    Taken of every intermediate while the graph runs, and nothing else is kept of it: so a graph of
    thousands of operations needs no more memory than its own run.
    """
    data = tensor.detach()
    plain = not data.is_complex() and data.layout == torch.strided
    if not plain or not 0 < data.numel() <= _WHOLE:
        return None
    if data.dtype == torch.bool:
        return {"true_share": float(data.float().mean())}
    if data.is_floating_point():
        # few operators take each dtype below float32, whose range float64 alone exceeds
        exact = data if data.dtype == torch.float64 else data.float()
        finite = exact[torch.isfinite(exact)]
        found: TensorStatistics = {"nan_share": float(torch.isnan(exact).float().mean())}
        return {**found, **_measure_range(finite)} if finite.numel() else found
    others = _describe_padding(data)
    entries = data[data != others["padding"]] if others else data
    low, high = int(entries.min()), int(entries.max())
    found = {"min": low, "max": high, "constant": not others and low == high, **others}
    if data.numel() <= 10000 and high - low == data.numel() - 1:
        found["unique"] = bool(data.unique().numel() == data.numel())
    return found


def _measure_range(entries: torch.Tensor) -> TensorStatistics:
    """The least and the largest of finite numbers, in a dtype that holds each of them exactly."""
    return {"min": read_number(entries.min()), "max": read_number(entries.max())}


def _describe_padding(data: torch.Tensor) -> TensorStatistics:
    """What stands for no entry in integers, and how many elements do; empty where nothing does."""
    padding = find_padding(data)
    if padding is None:
        return {}
    return {"padding": padding, "padding_share": float((data == padding).double().mean())}


def _describe_structure(data: torch.Tensor, is_weight: bool) -> TensorStatistics:
    """The structure of finite numbers, empty where they have none; a weight has one by chance, but
    no identity matrix.
    """
    structure: Optional[ValueStructure] = "identity" if is_identity(data) else None
    if structure is None and not is_weight:
        structure = find_structure(data)
    return {"structure": structure} if structure is not None else {}


def has_data(tensor: torch.Tensor) -> bool:
    """Whether a tensor's elements can be read: not on device meta, nor of a storage that its owner
    has freed, as FSDP does between two runs (`FSDPParam.free_unsharded_param`).
    """
    is_known = tensor.layout == torch.strided and tensor.device.type != "meta"
    return is_known and (not tensor.numel() or tensor.untyped_storage().nbytes() > 0)


def measure_distribution(tensor: torch.Tensor) -> TensorStatistics:
    """What a synthetic stand-in must respect; never the values themselves.

    `tensor` may have any shape, dtype and device; its moments are computed in float64. Of a tensor
    without data only the number of its elements is known.
    """
    data = tensor.detach()
    found: TensorStatistics = {"numel": data.numel()}
    if data.numel() == 0 or not has_data(data):
        return found
    if data.is_complex():
        return {**found, **_describe_complex(data)}
    if data.dtype == torch.bool:
        found["true_share"] = float(data.float().mean())
        return found
    wide = data.double()
    finite = wide[torch.isfinite(wide)]
    found["nan_share"] = float(torch.isnan(wide).double().mean())
    found["positive_inf_share"] = float((wide == float("inf")).double().mean())
    found["negative_inf_share"] = float((wide == -float("inf")).double().mean())
    if finite.numel():
        entries = finite if data.is_floating_point() else widen(data).reshape(-1)
        flat = entries[:100000]
        found["mean"] = float(finite.mean())
        found["std"] = float(finite.std()) if finite.numel() > 1 else 0.0
        found["integral"] = bool((finite == finite.floor()).all())
        found["zero_share"] = float((finite == 0).double().mean())
        if not data.is_floating_point():
            found.update(_describe_padding(entries))
        if "padding" in found:
            entries = entries[entries != found["padding"]]
        elif finite.numel() == wide.numel():
            found.update(_describe_structure(data, tensor.requires_grad))
        found.update(_measure_range(entries))
        found["constant"] = bool((flat == flat[0]).all())
        if flat.numel() <= 10000 or data.is_floating_point():
            different = int(flat[:10000].unique().numel())
            found["unique"] = flat.numel() <= 10000 and different == flat.numel()
            # few values that come again and again, which a continuous stand-in would never repeat
            recur = different <= _FEW and 4 * different <= flat.numel()
            if recur and data.is_floating_point():
                found["distinct"] = different
    return found


def _describe_complex(data: torch.Tensor) -> TensorStatistics:
    """Of complex numbers the statistics of both parts, or those of real numbers where all are one
    and the same.
    """
    first = complex(data.reshape(-1)[0])
    is_real = first.imag == 0 and abs(first.real) < float("inf")
    if is_real and bool((data == first).all()):
        return {"min": first.real, "max": first.real, "constant": True}
    return {**measure_distribution(data.real), "imaginary": measure_distribution(data.imag)}


def list_literal_values(tensor: torch.Tensor) -> Optional[List[ElementValue]]:
    """The values themselves, in order, of a tensor whose owner has allowed it; None if they are too
    many to be read.
    """
    if tensor.numel() > MOST_VALUES or tensor.is_complex() or not has_data(tensor):
        return None
    flat = tensor.detach().cpu().reshape(-1)
    return [_shorten(value, flat.dtype) for value in flat.tolist()]


def _shorten(value: Any, dtype: torch.dtype) -> Any:
    """The number with the fewest digits that is this value in its dtype; a text for what JSON has
    no number for.
    """
    if not isinstance(value, float):
        return value
    if value - value != 0:
        return repr(value)
    exact = torch.tensor(value, dtype=dtype)
    for digits in range(1, 17):
        short = float("{:.{}g}".format(value, digits))
        if bool(torch.tensor(short, dtype=dtype) == exact):
            return short
    return value


def _without_data(value: Any) -> Any:
    """A result with its tensors on the meta device: shapes, strides and dtypes."""
    if isinstance(value, torch.Tensor) and value.layout == torch.strided:
        empty = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
        return empty.requires_grad_() if value.requires_grad else empty
    if type(value) in (tuple, list):
        return type(value)(_without_data(item) for item in value)
    return value if isinstance(value, (bool, int, float)) else None


class ValueStatistics(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs a graph as it is and notes the statistics of every result in `spans`, by its node.

    `results` are the results themselves without their data, for releases that forget them (torch
    2.0). `bodies` are the graphs that higher-order operators were given, with inputs of one run.
    `lent` are the statistics of parameters that only a run has, by their ids.
    """

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.spans: Dict[str, TensorStatistics] = {}
        self.results: Dict[str, Any] = {}
        self.bodies: List[bodies.Body] = []
        self.lent: Dict[int, TensorStatistics] = {}

    def note_lent(self, inputs: Sequence[Any], owned: Collection[int]) -> None:
        """Notes the parameters among the inputs of a run that are none of the call's own: FSDP puts
        whole ones in place of its shards for the time of a run, and frees them after it.

        Args:
            inputs: real tensors and numbers; called before the run, while they have data.
            owned: the ids of the call's own tensors.
        """
        for value in inputs:
            if isinstance(value, torch.nn.Parameter) and id(value) not in owned:
                self.lent[id(value)] = measure_distribution(value)

    def run_node(self, n: Any) -> Any:
        if bodies.is_higher_order(n) and len(self.bodies) < bodies.MOST:
            args, _ = self.fetch_args_kwargs_from_env(n)
            self.bodies += bodies.find_bodies(n.target, args)
        value = super().run_node(n)
        if "example_value" not in n.meta:
            self.results[n.name] = _without_data(value)
        if isinstance(value, torch.Tensor) and n.op != "placeholder":
            try:
                noted = _compute_span(value)
            except (
                Exception
            ):  # a subclass or a device that cannot say: there is only less known then
                noted = None
            if noted is not None:
                self.spans[n.name] = noted
        return value
