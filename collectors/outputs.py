"""What a call left behind — outputs, changed inputs, gradients — and how two such snapshots differ.

The rule for wrong values (version 1) is the one the receiving side applies, `torch._dynamo.utils.same`
(torch 2.13, `_dynamo/utils.py`): two floating-point tensors agree if they are close at 1e-4, or if the
compiled one is at most `multiplier` times as far from float64 (root mean square) as eager is. We keep our own
copy because we need its numbers, not only its answer, on every release.
"""

from __future__ import annotations

import math
from typing import Any, Dict, List, Optional, Tuple

import torch

TOLERANCE = 1e-4
#: rtol, atol of torch.testing.assert_close, by dtype: what a user's own check most often applies.
_TIGHT = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}


def flatten(value: Any, path: str = "") -> List[Tuple[str, Any]]:
    """(path, leaf) pairs of nested tuples, lists, dicts and dataclass-like results, in a stable order."""
    if isinstance(value, torch.Tensor) or value is None:
        return [(path, value)]
    if isinstance(value, dict):
        return [leaf for key in value for leaf in flatten(value[key], "{}[{!r}]".format(path, key))]
    if isinstance(value, (list, tuple)):
        return [
            leaf for i, item in enumerate(value) for leaf in flatten(item, "{}[{}]".format(path, i))
        ]
    if hasattr(value, "__dataclass_fields__"):
        return [
            leaf
            for key in value.__dataclass_fields__
            for leaf in flatten(getattr(value, key), path + "." + key)
        ]
    return [(path, value)]


def _storage(tensor: torch.Tensor) -> int:
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError, AttributeError):
        return 0


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    """A detached CPU copy that can be saved whatever the tensor was (subclass, expanded, inference)."""
    with torch.inference_mode(False), torch.no_grad():
        copy = tensor.detach()
        if copy.is_sparse:
            copy = copy.to_dense()
        return copy.clone(memory_format=torch.contiguous_format).cpu()


def _meta(tensor: torch.Tensor, owners: Dict[int, str]) -> Dict[str, Any]:
    dense = tensor.layout == torch.strided
    return {
        "dtype": str(tensor.dtype),
        "shape": [int(size) for size in tensor.shape],
        "stride": [int(step) for step in tensor.stride()] if dense else None,
        "device": str(tensor.device.type),
        "requires_grad": bool(tensor.requires_grad),
        "is_leaf": bool(tensor.is_leaf),
        "alias": owners.get(_storage(tensor)) if dense and tensor.numel() else None,
    }


def take(
    outputs: Any,
    state: Dict[str, torch.Tensor],
    versions: Dict[str, int],
    gradients: Optional[Dict[str, Optional[torch.Tensor]]] = None,
) -> Dict[str, Any]:
    """A snapshot that torch.save can hold. `versions` are the version counters of `state` before the call."""
    owners: Dict[int, str] = {}
    for label, tensor in state.items():
        if tensor.layout == torch.strided and tensor.numel():
            owners.setdefault(_storage(tensor), label)
    leaves: List[Dict[str, Any]] = []
    for index, (path, leaf) in enumerate(flatten(outputs)):
        if isinstance(leaf, torch.Tensor):
            leaves.append(
                {
                    "path": path,
                    "kind": "tensor",
                    "tensor": _plain(leaf),
                    "meta": _meta(leaf, owners),
                }
            )
            if leaf.layout == torch.strided and leaf.numel():
                owners.setdefault(_storage(leaf), "output {}".format(index))
        elif leaf is None or isinstance(leaf, (bool, int, float, str)):
            leaves.append(
                {"path": path, "kind": "value", "value": leaf, "type": type(leaf).__name__}
            )
        else:
            leaves.append({"path": path, "kind": "opaque", "type": type(leaf).__name__})
    changed = {
        label: {"tensor": _plain(tensor), "meta": _meta(tensor, {})}
        for label, tensor in state.items()
        if version(tensor) != versions.get(label) or version(tensor) < 0
    }
    grads = {
        label: None if grad is None else _plain(grad) for label, grad in (gradients or {}).items()
    }
    return {"leaves": leaves, "changed": changed, "grads": grads}


def version(tensor: torch.Tensor) -> int:
    """The version counter; -1 for inference tensors, which have none."""
    try:
        return int(tensor._version)
    except RuntimeError:
        return -1


def _rmse(a: torch.Tensor, b: torch.Tensor) -> float:
    if a.numel() == 0:
        return 0.0
    wide = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
    difference = (a.to(wide) - b.to(wide)).abs()
    return float(difference.square().mean().sqrt().item())


def _max_abs(a: torch.Tensor, b: torch.Tensor) -> float:
    if a.numel() == 0:
        return 0.0
    if a.dtype == torch.bool:
        return float((a != b).any().item())
    wide = torch.complex128 if a.is_complex() else torch.float64
    difference = (a.to(wide) - b.to(wide)).abs()
    difference = torch.where(
        torch.isnan(a.to(wide)) & torch.isnan(b.to(wide)), torch.zeros_like(difference), difference
    )
    difference = torch.where(a.to(wide) == b.to(wide), torch.zeros_like(difference), difference)
    return float(difference.max().item())


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


def judge_values(
    reference: torch.Tensor,
    actual: torch.Tensor,
    exact: Optional[torch.Tensor],
    origin: Optional[torch.dtype] = None,
) -> Dict[str, Any]:
    """How two tensors of equal shape and dtype compare. `same` is the receiving side's rule, `tight` assert_close's.

    `exact` is the float64 result; `origin` the dtype the computation ran in, where that is coarser than the output's.
    """
    found: Dict[str, Any] = {"equal": False, "same": False, "tight": False}
    if torch.equal(
        torch.nan_to_num(reference) if reference.is_floating_point() else reference,
        torch.nan_to_num(actual) if actual.is_floating_point() else actual,
    ) and (
        not reference.is_floating_point()
        or bool((torch.isnan(reference) == torch.isnan(actual)).all())
        and bool((torch.isinf(reference) == torch.isinf(actual)).all())
    ):
        return {"equal": True, "same": True, "tight": True, "max_abs_error": 0.0}
    found["max_abs_error"] = _max_abs(reference, actual)
    found["max_ulp"] = _max_ulp(reference, actual)
    found["mismatched"] = int((reference != actual).sum().item())
    found["elements"] = reference.numel()
    if not (reference.is_floating_point() or reference.is_complex()):
        return found
    found["nan_moved"] = bool((torch.isnan(reference) != torch.isnan(actual)).any())
    rtol, atol = _TIGHT.get(reference.dtype, (1e-3, 1e-3))
    found["tight"] = _within(actual, reference, rtol, atol)
    if _within(actual, reference, TOLERANCE, TOLERANCE):
        found["same"] = True
    if exact is None or exact.shape != reference.shape or not torch.isfinite(exact.abs()).all():
        return found
    found["error_vs_fp64"] = _rmse(actual, exact)
    found["eager_error_vs_fp64"] = _rmse(reference, exact)
    scale = float(exact.abs().double().square().mean().sqrt().item())
    found["scale"] = scale
    coarse = {torch.float16, torch.bfloat16}
    multiplier = (
        3.0 if reference.dtype in coarse or origin in coarse or reference.numel() < 1000 else 2.0
    )
    if reference.numel() <= 10:
        multiplier = 10.0
    limit = multiplier * found["eager_error_vs_fp64"] + TOLERANCE / 10.0
    if not math.isnan(found["error_vs_fp64"]) and not found["nan_moved"]:
        found["same"] = found["same"] or found["error_vs_fp64"] <= limit
    return found


def _strides_differ(a: Dict[str, Any], b: Dict[str, Any]) -> bool:
    if a["stride"] is None or b["stride"] is None or 0 in a["shape"]:
        return a["stride"] != b["stride"] and 0 not in a["shape"]
    pairs = zip(a["shape"], a["stride"], b["stride"])
    return any(size > 1 and one != two for size, one, two in pairs)


def _metadata(where: str, a: Dict[str, Any], b: Dict[str, Any]) -> List[Dict[str, Any]]:
    found = []
    for key in ("dtype", "shape", "device", "requires_grad", "alias"):
        if a[key] != b[key]:
            found.append(
                {"where": where, "property": key, "eager": str(a[key]), "compiled": str(b[key])}
            )
    if a["shape"] == b["shape"] and _strides_differ(a, b):
        found.append(
            {
                "where": where,
                "property": "stride",
                "eager": str(a["stride"]),
                "compiled": str(b["stride"]),
            }
        )
    return found


def _compare_tensors(
    where: str,
    what: str,
    a: torch.Tensor,
    b: torch.Tensor,
    exact: Optional[torch.Tensor],
    origin: Optional[torch.dtype],
) -> Optional[Dict[str, Any]]:
    if a.dtype != b.dtype or a.shape != b.shape:
        if a.shape != b.shape:
            return None  # reported as metadata
        if not bool((a.to(torch.float64) != b.to(torch.float64)).any()):
            return None
        b = b.to(a.dtype)
    judged = judge_values(a, b, exact, origin)
    if judged["equal"]:
        return None
    return {"where": where, "property": what, **judged}


def compare(
    reference: Dict[str, Any],
    actual: Dict[str, Any],
    exact: Optional[Dict[str, Any]] = None,
    origin: Optional[str] = None,
    baseline: Optional[Dict[str, torch.Tensor]] = None,
) -> Dict[str, Any]:
    """All differences between two snapshots. `equal`: none at all; `same`: none that the rule above minds.

    `baseline` holds the inputs before the call: the value of an input that only one side has changed.
    """
    metadata: List[Dict[str, Any]] = []
    values: List[Dict[str, Any]] = []
    coarse = getattr(torch, origin.split(".")[-1]) if origin else None
    exact_leaves = (
        exact["leaves"] if exact and len(exact["leaves"]) == len(reference["leaves"]) else None
    )
    if len(reference["leaves"]) != len(actual["leaves"]):
        metadata.append(
            {
                "where": "outputs",
                "property": "structure",
                "eager": str(len(reference["leaves"])),
                "compiled": str(len(actual["leaves"])),
            }
        )
    for index, (a, b) in enumerate(zip(reference["leaves"], actual["leaves"])):
        where = "output {}".format(index)
        if a["kind"] != b["kind"]:
            metadata.append(
                {"where": where, "property": "type", "eager": a["kind"], "compiled": b["kind"]}
            )
        elif a["kind"] == "tensor":
            metadata.extend(_metadata(where, a["meta"], b["meta"]))
            fine = exact_leaves[index].get("tensor") if exact_leaves else None
            difference = _compare_tensors(where, "value", a["tensor"], b["tensor"], fine, coarse)
            if difference:
                values.append(difference)
        elif a["kind"] == "value" and a["value"] != b["value"]:
            close = isinstance(a["value"], float) and math.isclose(
                a["value"], b["value"], rel_tol=1e-4, abs_tol=1e-4
            )
            both_nan = a["value"] != a["value"] and b["value"] != b["value"]
            if not close and not both_nan:
                metadata.append(
                    {
                        "where": where,
                        "property": "python value",
                        "eager": str(a["value"])[:80],
                        "compiled": str(b["value"])[:80],
                    }
                )
    values.extend(_compare_named(reference, actual, exact, "changed", coarse, baseline or {}))
    values.extend(_compare_named(reference, actual, exact, "grads", coarse, {}))
    return {
        "equal": not metadata and not values,
        "same": not metadata and all(item["same"] for item in values),
        "tight": not metadata and all(item["tight"] for item in values),
        "metadata": metadata,
        "values": values,
    }


def _compare_named(
    reference: Dict[str, Any],
    actual: Dict[str, Any],
    exact: Optional[Dict[str, Any]],
    part: str,
    origin: Optional[torch.dtype],
    baseline: Dict[str, torch.Tensor],
) -> List[Dict[str, Any]]:
    """Changed inputs ("changed") or gradients ("grads"), matched by label."""
    found: List[Dict[str, Any]] = []
    what = {"changed": "changed input", "grads": "gradient"}[part]

    def tensor(snapshot: Optional[Dict[str, Any]], label: str) -> Optional[torch.Tensor]:
        entry = snapshot[part].get(label) if snapshot else None
        if isinstance(entry, dict):
            entry = entry["tensor"]
        return entry if isinstance(entry, torch.Tensor) else None

    labels = list(dict.fromkeys([*reference[part], *actual[part]]))
    for number, label in enumerate(labels):
        a, b = tensor(reference, label), tensor(actual, label)
        if part == "changed" and label in baseline:
            # a version counter may move without a change of value, and only on one side
            a = _plain(baseline[label]) if a is None else a
            b = _plain(baseline[label]) if b is None else b
        where = "{} {}".format(what, number)
        if a is None and b is None:
            continue
        if a is None or b is None:
            if part == "grads":
                filled = a if a is not None else b
                assert filled is not None
                if not bool((filled != 0).any()):
                    continue  # no gradient and a zero gradient mean the same
            if part == "changed":
                continue
            found.append(
                {
                    "where": where,
                    "label": label,
                    "property": what,
                    "equal": False,
                    "same": False,
                    "tight": False,
                    "missing": "eager" if a is None else "compiled",
                }
            )
            continue
        if a.shape != b.shape:
            continue
        difference = _compare_tensors(where, what, a, b, tensor(exact, label), origin)
        if difference:
            difference["label"] = label
            found.append(difference)
    return found
