"""How two snapshots of one call differ: outputs, changed inputs, gradients and tangents, their
values and their metadata, and side effects on Python's state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, List, Mapping, Optional, Sequence, Tuple, cast

import torch

from ..protocol.comparison import Comparison, MetadataDifference, TensorRole, ValueDifference
from ..protocol.repro_words import Property
from . import effect_comparison, outputs, tolerance
from .outputs import SavedLeaf, SavedTensor, Snapshot, TensorMetadata
from .tolerance import IndexedValues

#: Derivatives by label.
_Derivatives = Mapping[str, Optional[torch.Tensor]]


def _strides_differ(a: TensorMetadata, b: TensorMetadata) -> bool:
    if a["stride"] is None or b["stride"] is None or 0 in a["shape"]:
        return a["stride"] != b["stride"] and 0 not in a["shape"]
    pairs = zip(a["shape"], a["stride"], b["stride"])
    return any(size > 1 and one != two for size, one, two in pairs)


def _describe_subclasses(a: str, b: str) -> Tuple[str, str]:
    """What two tensors are, in words that name no class of the program's."""
    if a and b and a != b:
        return "a subclass of Tensor", "another subclass of Tensor"
    return "a subclass of Tensor" if a else "Tensor", "a subclass of Tensor" if b else "Tensor"


def _compare_metadata(where: str, a: TensorMetadata, b: TensorMetadata) -> List[MetadataDifference]:
    compared: List[Tuple[Property, object, object]] = [
        (Property.TYPE, *_describe_subclasses(a["subclass"], b["subclass"])),
        (Property.DTYPE, a["dtype"], b["dtype"]),
        (Property.SHAPE, a["shape"], b["shape"]),
        (Property.DEVICE, a["device"], b["device"]),
        (Property.REQUIRES_GRAD, a["requires_grad"], b["requires_grad"]),
        (Property.ALIAS, a["alias"], b["alias"]),
    ]
    if a["requires_grad"] and b["requires_grad"]:
        # of tensors without a gradient all are leaves
        compared.append((Property.IS_LEAF, a["is_leaf"], b["is_leaf"]))
    if a["shape"] == b["shape"] and _strides_differ(a, b):
        compared.append((Property.STRIDE, a["stride"], b["stride"]))
    return [
        {"where": where, "property": name, "eager": str(eager), "compiled": str(compiled)}
        for name, eager, compiled in compared
        if eager != compiled
    ]


@dataclass(frozen=True)
class ComparisonFacts:
    """What is known of a call beside its two snapshots.

    Attributes:
        exact: the call in float64.
        computed_in: the dtype that the program had, as text.
        baseline: the inputs before the call.
        ties: what an index output indexes, by the number of the output.
        random: whether the program draws random numbers.
        again: other eager runs, whose side effects tell which of the call's can be compared.
    """

    exact: Optional[Snapshot] = None
    computed_in: Optional[str] = None
    baseline: Mapping[str, torch.Tensor] = field(default_factory=dict)
    ties: Mapping[int, IndexedValues] = field(default_factory=dict)
    random: bool = False
    again: Sequence[Snapshot] = ()

    @property
    def dtype(self) -> Optional[torch.dtype]:
        """`computed_in` as torch has it."""
        return getattr(torch, self.computed_in.split(".")[-1]) if self.computed_in else None


@dataclass
class _Comparison:
    """Collects the differences of one pair of snapshots."""

    reference: Snapshot
    actual: Snapshot
    known: ComparisonFacts
    metadata: List[MetadataDifference] = field(default_factory=list)
    values: List[ValueDifference] = field(default_factory=list)

    def compare(self) -> Comparison:
        self._compare_leaves()
        self._compare_written()
        self._compare_gradients()
        self._compare_tangents()
        self.metadata += effect_comparison.find_differences(
            self.reference, self.actual, self.known.again
        )
        metadata, values = self.metadata, self.values
        return {
            "rule": tolerance.RULE,
            "equal": not metadata and not values,
            "same": not metadata and all(item["same"] for item in values),
            "tight": not metadata and all(item["tight"] for item in values),
            "metadata": metadata,
            "values": values,
        }

    def _note_difference(self, where: str, name: Property, eager: Any, compiled: Any) -> None:
        self.metadata.append(
            {
                "where": where,
                "property": name,
                "eager": str(eager)[:80],
                "compiled": str(compiled)[:80],
            }
        )

    def _compare_leaves(self) -> None:
        pair = self.reference["leaves"], self.actual["leaves"]
        if len(pair[0]) != len(pair[1]):
            self._note_difference("outputs", Property.STRUCTURE, len(pair[0]), len(pair[1]))
        exact = self.known.exact["leaves"] if self.known.exact else []
        fine: Sequence[Optional[SavedLeaf]] = [None] * len(pair[0])
        fine = exact if len(exact) == len(pair[0]) else fine
        for index, (a, b, x) in enumerate(zip(pair[0], pair[1], fine)):
            where = "output {}".format(index)
            if a["path"] != b["path"]:
                self._note_difference(
                    "outputs", Property.STRUCTURE, "containers", "other containers"
                )
            if a["kind"] != b["kind"] or _has_its_type(a) and a["type"] != b["type"]:
                self._note_difference(
                    where, Property.TYPE, a.get("type") or a["kind"], b.get("type") or b["kind"]
                )
            elif a["kind"] == "tensor":
                self.metadata.extend(_compare_metadata(where, a["meta"], b["meta"]))
                self._compare_tensors(
                    where,
                    TensorRole.OUTPUT,
                    a["tensor"],
                    b["tensor"],
                    x and x.get("tensor"),
                    self.known.ties.get(index),
                )
            elif a["kind"] == "value" and not _is_same_python(a["value"], b["value"]):
                self._note_difference(where, Property.PYTHON_VALUE, a["value"], b["value"])

    def _compare_tensors(
        self,
        where: str,
        role: TensorRole,
        a: torch.Tensor,
        b: torch.Tensor,
        exact: Optional[torch.Tensor],
        tie: Optional[IndexedValues] = None,
    ) -> Optional[ValueDifference]:
        if a.shape != b.shape:
            return None  # told as metadata
        if a.dtype != b.dtype:
            if not bool(
                (
                    ~tolerance.find_equal_elements(
                        tolerance.widen_values(a), tolerance.widen_values(b)
                    )
                ).any()
            ):
                return None
            b = b.to(a.dtype)
        known = self.known
        judged = tolerance.judge_values(a, b, exact, known.dtype, tie, known.random)
        if judged["equal"]:
            return None
        difference = cast(ValueDifference, {"where": where, "property": role, **judged})
        self.values.append(difference)
        return difference

    def _compare_written(self) -> None:
        """Inputs and buffers written to.

        One that only one side wrote to is held against its value before the call.
        """
        sides = self.reference["changed"], self.actual["changed"]
        exact = self.known.exact["changed"] if self.known.exact else {}
        for number, label in enumerate(dict.fromkeys([*sides[0], *sides[1]])):
            entries = [side.get(label) or self._find_before(label) for side in sides]
            a, b = entries
            if a is None or b is None:
                continue
            where = "changed input {}".format(number)
            self.metadata.extend(_compare_metadata(where, a["meta"], b["meta"]))
            fine = exact.get(label)
            found = self._compare_tensors(
                where,
                TensorRole.CHANGED_INPUT,
                a["tensor"],
                b["tensor"],
                fine["tensor"] if fine else None,
            )
            if found is not None:
                found["label"] = label

    def _find_before(self, label: str) -> Optional[SavedTensor]:
        tensor = self.known.baseline.get(label)
        return None if tensor is None else outputs.build_saved_tensor(tensor)

    def _compare_gradients(self) -> None:
        sides = self.reference["grads"], self.actual["grads"]
        exact = self.known.exact["grads"] if self.known.exact else {}
        self._compare_derivatives(TensorRole.GRADIENT, sides, exact)

    def _compare_tangents(self) -> None:
        sides = self.reference.get("tangents", {}), self.actual.get("tangents", {})
        exact = self.known.exact.get("tangents", {}) if self.known.exact else {}
        self._compare_derivatives(TensorRole.TANGENT, sides, exact)

    def _compare_derivatives(
        self,
        role: TensorRole,
        sides: Tuple[_Derivatives, _Derivatives],
        exact: _Derivatives,
    ) -> None:
        for number, label in enumerate(dict.fromkeys([*sides[0], *sides[1]])):
            where = "{} {}".format(role, number)
            a, b = (side.get(label) for side in sides)
            if a is None and b is None:
                continue
            if a is None or b is None:
                filled = a if a is not None else b
                assert filled is not None
                if not bool((filled != 0).any()):
                    continue  # no gradient and a zero gradient mean the same
                self.values.append(
                    {
                        "where": where,
                        "property": role,
                        "equal": False,
                        "same": False,
                        "tight": False,
                        "label": label,
                        "missing": "eager" if a is None else "compiled",
                    }
                )
                continue
            if a.shape != b.shape:
                self._note_difference(where, Property.SHAPE, tuple(a.shape), tuple(b.shape))
            found = self._compare_tensors(where, role, a, b, exact.get(label))
            if found is not None:
                found["label"] = label


def _has_its_type(leaf: SavedLeaf) -> bool:
    """Whether the type of what eager returned counts: that of a plain value, and of a generator,
    which can be sent to and ends with a value of its own.
    """
    return leaf["kind"] == "value" or leaf.get("type") == "generator"


def _is_same_python(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-4) or a != a and b != b
    return bool(a == b)


def compare(
    reference: Snapshot, actual: Snapshot, known: Optional[ComparisonFacts] = None
) -> Comparison:
    """All differences between two snapshots of one call.

    Args:
        reference: of the eager run.
        actual: of the compiled run, or of another eager one. Tensors of both are on the CPU.
        known: what else is known of the call; by default nothing.

    Returns:
        `equal`: no difference at all. `same`: none in metadata, and none in values that the rule of
        `tolerance` minds. `tight`: the same by the tolerances of `torch.testing.assert_close`.
        Outputs are paired by their order, changed inputs and gradients by their labels, tangents by
        their places in the output.
    """
    return _Comparison(reference, actual, known or ComparisonFacts()).compare()
