"""What the stand-ins of a graph's tensors must respect: a few numbers of each, never the values themselves.

Those of intermediates are noted while the graph runs.
"""

from __future__ import annotations

from typing import Any, Dict, Optional

import torch
import torch.fx

_WHOLE = 1 << 24


def span(tensor: torch.Tensor) -> Optional[Dict[str, Any]]:
    """The few numbers that an intermediate's stand-in must respect; None where there is nothing to respect.

    Taken of every intermediate while the graph runs, and nothing else is kept of it: so a graph of thousands
    of operations needs no more memory than its own run.
    """
    data = tensor.detach()
    plain = not data.is_complex() and data.dtype != torch.bool and data.layout == torch.strided
    if not plain or not 0 < data.numel() <= _WHOLE:
        return None
    if data.is_floating_point():
        finite = data.float()[torch.isfinite(data)]
        found: Dict[str, Any] = {"nan": bool(torch.isnan(data).any())}
        found["inf"] = bool(torch.isinf(data).any())
        if finite.numel():
            found.update(min=float(finite.min()), max=float(finite.max()))
        return found
    low, high = int(data.min()), int(data.max())
    found = {"min": low, "max": high, "constant": low == high}
    if data.numel() <= 10000 and high - low == data.numel() - 1:
        found["unique"] = bool(data.unique().numel() == data.numel())
    return found


def statistics(tensor: torch.Tensor) -> Dict[str, Any]:
    """What a synthetic stand-in must respect; never the values themselves."""
    data = tensor.detach()
    found: Dict[str, Any] = {"numel": data.numel()}
    if (
        data.numel() == 0
        or data.is_complex()
        or data.dtype == torch.bool
        or data.layout != torch.strided
    ):
        return found
    wide = data.double()
    finite = wide[torch.isfinite(wide)]
    found["nan"] = bool(torch.isnan(wide).any())
    found["inf"] = bool(torch.isinf(wide).any())
    found["negative_inf_only"] = found["inf"] and not bool((wide == float("inf")).any())
    if finite.numel():
        found.update(min=float(finite.min()), max=float(finite.max()), mean=float(finite.mean()))
        found["std"] = float(finite.std()) if finite.numel() > 1 else 0.0
        found["integral"] = bool((finite == finite.floor()).all())
        found["zeros"] = bool((finite == 0).any())
        flat = finite.reshape(-1)[:100000]
        found["constant"] = bool((flat == flat[0]).all())
        found["unique"] = (
            bool(flat.unique().numel() == flat.numel()) if flat.numel() <= 10000 else False
        )
    return found


def _without_data(value: Any) -> Any:
    """A result with its tensors on the meta device: shapes, strides and dtypes."""
    if isinstance(value, torch.Tensor) and value.layout == torch.strided:
        empty = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
        return empty.requires_grad_() if value.requires_grad else empty
    if type(value) in (tuple, list):
        return type(value)(_without_data(item) for item in value)
    return value if isinstance(value, (bool, int, float)) else None


class Watching(torch.fx.Interpreter):  # type: ignore[misc]
    """Runs a graph as it is and notes the `span` of every result under its node's name.

    `results` are the results themselves without their data, for releases that forget them (torch 2.0).
    """

    def __init__(self, module: Any) -> None:
        super().__init__(module)
        self.spans: Dict[str, Dict[str, Any]] = {}
        self.results: Dict[str, Any] = {}

    def run_node(self, n: Any) -> Any:
        value = super().run_node(n)
        if "example_value" not in n.meta:
            self.results[n.name] = _without_data(value)
        if isinstance(value, torch.Tensor) and n.op != "placeholder":
            try:
                noted = span(value)
            except (
                Exception
            ):  # a subclass or a device that cannot say: there is only less known then
                noted = None
            if noted is not None:
                self.spans[n.name] = noted
        return value
