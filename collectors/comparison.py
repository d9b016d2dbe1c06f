"""How two snapshots of one call differ, and whether the receiving side would mind (rule 1).

The rule is `torch._dynamo.utils.same` (`torch/_dynamo/utils.py`): two floating-point tensors agree if they are close at
1e-4, or if the compiled one is at most 2 times (3 in half precision or below 1000 elements) as far from float64, by
root mean square, as eager is. The target's own `same` is asked where it has one; the copy below answers elsewhere and
gives the numbers. What `same` does not know is added: NaN must stay where they are; an integer or boolean result
that is nearer to the float64 run's than eager's is not wrong; indices may differ where the values tie.
"""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional

import torch

from . import outputs

RULE = 1
TOLERANCE = 1e-4
_COARSE = (torch.float16, torch.bfloat16)
#: rtol, atol of torch.testing.assert_close, by dtype: what a user's own check most often applies.
_TIGHT = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}


#: Eager may be so far from float64, relative to the root mean square, and both still have drawn the same numbers.
_RANDOM_NEAR = 0.05


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def _inexact(tensor: torch.Tensor) -> bool:
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _rmse(a: torch.Tensor, b: torch.Tensor) -> float:
    if a.numel() == 0:
        return 0.0
    return float((_wide(a) - _wide(b)).abs().square().mean().sqrt().item())


def _alike(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Where two tensors hold the same value, NaN being equal to NaN."""
    return (a == b) | ((a != a) & (b != b))


def _max_abs(a: torch.Tensor, b: torch.Tensor) -> float:
    if a.numel() == 0:
        return 0.0
    if a.dtype == torch.bool:
        return float((a != b).any().item())
    difference = (_wide(a) - _wide(b)).abs()
    return float(difference.masked_fill(_alike(a, b), 0.0).max().item())


def _max_ulp(a: torch.Tensor, b: torch.Tensor) -> Optional[float]:
    """Largest difference in units in the last place of `a`'s dtype; None where that has no meaning."""
    if not a.is_floating_point() or a.numel() == 0:
        return None
    finite = torch.isfinite(a) & torch.isfinite(b)
    if not bool(finite.any()):
        return None
    x, y = a[finite].double(), b[finite].double()
    info = torch.finfo(a.dtype)
    exponent = torch.floor(torch.log2(torch.clamp(torch.maximum(x.abs(), y.abs()), min=info.tiny)))
    return float(((x - y).abs() / (torch.exp2(exponent) * info.eps)).max().item())


def _within(a: torch.Tensor, b: torch.Tensor, rtol: float, atol: float) -> bool:
    return bool(torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True))


def _receiving(
    reference: torch.Tensor, actual: torch.Tensor, exact: Optional[torch.Tensor]
) -> Optional[bool]:
    """What the target's own `same` says; None where it has none or cannot take these tensors."""
    try:
        from torch._dynamo.utils import same

        return bool(same(reference, actual, fp64_ref=exact, equal_nan=True))
    except Exception:
        return None


def _own(
    reference: torch.Tensor,
    actual: torch.Tensor,
    off: Optional[float],
    eager_off: Optional[float],
    origin: Optional[torch.dtype],
) -> bool:
    """The same rule from our own numbers; `origin` is a coarser dtype that the computation ran in."""
    if _within(actual, reference, TOLERANCE, TOLERANCE):
        return True
    if off is None or eager_off is None or math.isnan(off):
        return False
    lenient = reference.dtype in _COARSE or origin in _COARSE or reference.numel() < 1000
    return off <= (3.0 if lenient else 2.0) * eager_off + TOLERANCE / 10.0


def judge_values(
    reference: torch.Tensor,
    actual: torch.Tensor,
    exact: Optional[torch.Tensor],
    origin: Optional[torch.dtype] = None,
    tie: Optional[Dict[str, Any]] = None,
    random: bool = False,
) -> Dict[str, Any]:
    """How two tensors of equal shape and dtype compare. `same` is the receiving side's rule, `tight` assert_close's.

    `exact` is the float64 result; `origin` the dtype the computation ran in, where that is coarser than the output's;
    `tie` what the output indexes (see `probe`), if it is an index. Errors are absolute; `error_vs_fp64` and
    `eager_error_vs_fp64` are root mean squares, for integers and booleans the share of unequal elements. A program
    that draws random numbers may draw others in float64: then only a float64 result near eager's is a judge.
    """
    if "float8" in str(reference.dtype):
        reference, actual = reference.float(), actual.float()
        exact = exact.float() if exact is not None else None
        origin = origin or torch.bfloat16
    alike = _alike(reference, actual)
    if bool(alike.all()):
        return {"equal": True, "same": True, "tight": True, "max_abs_error": 0.0}
    found: Dict[str, Any] = {
        "equal": False,
        "same": False,
        "tight": False,
        "max_abs_error": _max_abs(reference, actual),
        "max_ulp": _max_ulp(reference, actual),
        "rms_error": _rmse(actual, reference),
        "mismatched": int((~alike).sum().item()),
        "elements": reference.numel(),
    }
    usable = exact is not None and exact.shape == reference.shape
    if usable and random and exact is not None:
        usable = _inexact(reference) and _near(reference, exact)
    if not _inexact(reference):
        if usable and exact is not None:
            found["error_vs_fp64"] = float((actual != exact).double().mean().item())
            found["eager_error_vs_fp64"] = float((reference != exact).double().mean().item())
            nearer = found["error_vs_fp64"] <= found["eager_error_vs_fp64"]
            nearer = nearer and _max_abs(actual, exact) <= _max_abs(reference, exact)
            found["same"] = nearer and found["eager_error_vs_fp64"] > 0
        if tie is not None and tied(reference, actual, tie):
            found["same"] = found["tied"] = True
        return found
    return _judge_floats(reference, actual, exact if usable else None, origin, found)


def _near(reference: torch.Tensor, exact: torch.Tensor) -> bool:
    """Whether float64 computed the same thing: off by rounding, not by other random numbers."""
    scale = float(_wide(exact).abs().square().mean().sqrt().item()) if exact.numel() else 0.0
    return _rmse(reference, exact) <= _RANDOM_NEAR * scale


def _judge_floats(
    reference: torch.Tensor,
    actual: torch.Tensor,
    exact: Optional[torch.Tensor],
    origin: Optional[torch.dtype],
    found: Dict[str, Any],
) -> Dict[str, Any]:
    counts = {
        "nan": [int(torch.isnan(t).sum().item()) for t in (reference, actual)],
        "inf": [int(torch.isinf(t).sum().item()) for t in (reference, actual)],
    }
    found.update({name: count for name, count in counts.items() if any(count)})
    found["nan_moved"] = bool((torch.isnan(reference) != torch.isnan(actual)).any())
    rtol, atol = _TIGHT.get(reference.dtype, (1e-3, 1e-3))
    found["tight"] = _within(actual, reference, rtol, atol)
    off = eager_off = None
    if exact is not None and bool(torch.isfinite(exact.abs()).all()):
        off, eager_off = _rmse(actual, exact), _rmse(reference, exact)
        found.update(error_vs_fp64=off, eager_error_vs_fp64=eager_off)
        found["scale"] = float(_wide(exact).abs().square().mean().sqrt().item())
    else:
        exact = None
    same = _receiving(reference, actual, exact)
    if same is None or not same and origin in _COARSE:
        same = _own(reference, actual, off, eager_off, origin)
    found["same"] = bool(same) and not found["nan_moved"]
    return found


def tied(reference: torch.Tensor, actual: torch.Tensor, tie: Dict[str, Any]) -> bool:
    """Whether two index tensors choose equal values: `tie` has the indexed `values`, their `dim`, and `stable`.

    Values are equal within what rounding may do to them; under a stable sort exact ties have one right order, and
    an index may not appear twice where eager has it once.
    """
    values, dim = tie["values"], int(tie["dim"])
    a, b = reference, actual
    if a.dim() == values.dim() - 1:
        a, b = a.unsqueeze(dim), b.unsqueeze(dim)
    size = values.shape[dim] if values.dim() else 1
    if a.dim() != values.dim() or bool(((b < 0) | (b >= size)).any()):
        return False
    one, two = values.gather(dim, a), values.gather(dim, b)
    if tie.get("stable") and bool((_alike(one, two) & (a != b)).any()):
        return False
    if a.shape[dim] > 1 and not torch.equal(*(_repeats(t, dim) for t in (a, b))):
        return False
    if not _inexact(values):
        return bool(_alike(one, two).all())
    tolerance = TOLERANCE
    if values.is_floating_point():
        tolerance = max(tolerance, 4 * torch.finfo(values.dtype).eps)
    return _within(two, one, tolerance, tolerance)


def _repeats(index: torch.Tensor, dim: int) -> torch.Tensor:
    """How many neighbours are equal once sorted: zero for a permutation or a selection."""
    ordered = index.sort(dim).values
    return (ordered.diff(dim=dim) == 0).sum(dim)


def _strides_differ(a: Dict[str, Any], b: Dict[str, Any]) -> bool:
    if a["stride"] is None or b["stride"] is None or 0 in a["shape"]:
        return a["stride"] != b["stride"] and 0 not in a["shape"]
    pairs = zip(a["shape"], a["stride"], b["stride"])
    return any(size > 1 and one != two for size, one, two in pairs)


def _metadata(where: str, a: Dict[str, Any], b: Dict[str, Any]) -> List[Dict[str, Any]]:
    names = ["dtype", "shape", "device", "requires_grad", "alias"]
    if a["requires_grad"] and b["requires_grad"]:
        names.append("is_leaf")  # of tensors without a gradient all are leaves
    found = [
        {"where": where, "property": key, "eager": str(a[key]), "compiled": str(b[key])}
        for key in names
        if a[key] != b[key]
    ]
    if a["shape"] == b["shape"] and _strides_differ(a, b):
        strides = {"eager": str(a["stride"]), "compiled": str(b["stride"])}
        found.append({"where": where, "property": "stride", **strides})
    return found


class _Comparison:
    """Collects the differences of one pair of snapshots."""

    def __init__(
        self,
        reference: Dict[str, Any],
        actual: Dict[str, Any],
        exact: Optional[Dict[str, Any]],
        origin: Optional[str],
        baseline: Dict[str, torch.Tensor],
        ties: Dict[int, Dict[str, Any]],
        random: bool,
    ) -> None:
        self.random = random
        self.reference = reference
        self.actual = actual
        self.exact = exact
        self.origin = getattr(torch, origin.split(".")[-1]) if origin else None
        self.baseline = baseline
        self.ties = ties
        self.metadata: List[Dict[str, Any]] = []
        self.values: List[Dict[str, Any]] = []

    def result(self) -> Dict[str, Any]:
        self._leaves()
        self._changed()
        self._gradients()
        metadata, values = self.metadata, self.values
        return {
            "rule": RULE,
            "equal": not metadata and not values,
            "same": not metadata and all(item["same"] for item in values),
            "tight": not metadata and all(item["tight"] for item in values),
            "metadata": metadata,
            "values": values,
        }

    def _differs(self, where: str, name: str, eager: Any, compiled: Any) -> None:
        self.metadata.append(
            {
                "where": where,
                "property": name,
                "eager": str(eager)[:80],
                "compiled": str(compiled)[:80],
            }
        )

    def _leaves(self) -> None:
        pair = self.reference["leaves"], self.actual["leaves"]
        if len(pair[0]) != len(pair[1]):
            self._differs("outputs", "structure", len(pair[0]), len(pair[1]))
        exact = self.exact["leaves"] if self.exact else []
        fine = exact if len(exact) == len(pair[0]) else [{}] * len(pair[0])
        for index, (a, b, x) in enumerate(zip(pair[0], pair[1], fine)):
            where = "output {}".format(index)
            if a["path"] != b["path"]:
                self._differs("outputs", "structure", "containers", "other containers")
            if a["kind"] != b["kind"] or a["kind"] == "value" and a["type"] != b["type"]:
                self._differs(where, "type", a.get("type") or a["kind"], b.get("type") or b["kind"])
            elif a["kind"] == "tensor":
                self.metadata.extend(_metadata(where, a["meta"], b["meta"]))
                self._tensors(
                    where, "value", a["tensor"], b["tensor"], x.get("tensor"), self.ties.get(index)
                )
            elif a["kind"] == "value" and not _same_python(a["value"], b["value"]):
                self._differs(where, "python value", a["value"], b["value"])

    def _tensors(
        self,
        where: str,
        what: str,
        a: torch.Tensor,
        b: torch.Tensor,
        exact: Optional[torch.Tensor],
        tie: Optional[Dict[str, Any]] = None,
    ) -> Optional[Dict[str, Any]]:
        if a.shape != b.shape:
            return None  # told as metadata
        if a.dtype != b.dtype:
            if not bool((~_alike(_wide(a), _wide(b))).any()):
                return None
            b = b.to(a.dtype)
        judged = judge_values(a, b, exact, self.origin, tie, self.random)
        if judged["equal"]:
            return None
        self.values.append({"where": where, "property": what, **judged})
        return self.values[-1]

    def _changed(self) -> None:
        """Inputs and buffers written to. One that only one side wrote to is held against its value before the call."""
        sides = self.reference["changed"], self.actual["changed"]
        exact = self.exact["changed"] if self.exact else {}
        for number, label in enumerate(dict.fromkeys([*sides[0], *sides[1]])):
            entries = [side.get(label) or self._before(label) for side in sides]
            a, b = entries
            if a is None or b is None:
                continue
            where = "changed input {}".format(number)
            self.metadata.extend(_metadata(where, a["meta"], b["meta"]))
            fine = exact.get(label)
            found = self._tensors(
                where, "changed input", a["tensor"], b["tensor"], fine["tensor"] if fine else None
            )
            if found is not None:
                found["label"] = label

    def _before(self, label: str) -> Optional[Dict[str, Any]]:
        tensor = self.baseline.get(label)
        return None if tensor is None else outputs.entry(tensor)

    def _gradients(self) -> None:
        sides = self.reference["grads"], self.actual["grads"]
        exact = self.exact["grads"] if self.exact else {}
        for number, label in enumerate(dict.fromkeys([*sides[0], *sides[1]])):
            where = "gradient {}".format(number)
            a, b = (side.get(label) for side in sides)
            if a is None and b is None:
                continue
            if a is None or b is None:
                filled = a if a is not None else b
                assert filled is not None
                if not bool((filled != 0).any()):
                    continue  # no gradient and a zero gradient mean the same
                missing = {"equal": False, "same": False, "tight": False, "label": label}
                missing["missing"] = "eager" if a is None else "compiled"
                self.values.append({"where": where, "property": "gradient", **missing})
                continue
            if a.shape != b.shape:
                self._differs(where, "shape", tuple(a.shape), tuple(b.shape))
            found = self._tensors(where, "gradient", a, b, exact.get(label))
            if found is not None:
                found["label"] = label


def _same_python(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-4) or a != a and b != b
    return bool(a == b)


def compare(
    reference: Dict[str, Any],
    actual: Dict[str, Any],
    exact: Optional[Dict[str, Any]] = None,
    origin: Optional[str] = None,
    baseline: Optional[Dict[str, torch.Tensor]] = None,
    ties: Optional[Dict[int, Dict[str, Any]]] = None,
    random: bool = False,
) -> Dict[str, Any]:
    """All differences between two snapshots. `equal`: none at all; `same`: none that the rule above minds.

    `baseline` holds the inputs before the call; `ties`, by output, what an index output indexes; `random` says that the
    program draws random numbers.
    """
    return _Comparison(
        reference, actual, exact, origin, baseline or {}, ties or {}, random
    ).result()
