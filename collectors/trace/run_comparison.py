"""How alike two runs are: outputs, gradients, changed buffers, the operators that reached the
dispatcher, and the first layer that differs.

Where values are neither the same nor within torch.testing's tolerances, a run of the recorded call
in float64 is the referee: the rewritten model may be as far from it as the private one is, and not
much farther.
"""

from __future__ import annotations

import collections
import math
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

import torch

from ..call.closeness import compare_lists
from ..machine.public_names import NAMESPACES
from ..protocol.comparison import ListComparison, OperatorComparison
from ..protocol.graphs import EquivalenceAnswer, EquivalenceRequest
from ..protocol.words import CallOutcome, Closeness
from .equivalence_run import EquivalenceRun, SavedRun
from .registry import Registry


def build_failure(detail: str) -> EquivalenceAnswer:
    """The answer where there is nothing to compare: `detail` says what raises."""
    return {"outcome": CallOutcome.RAISES, "detail": detail}


def has_differences(found: EquivalenceAnswer) -> bool:
    """Whether an output, a gradient or a buffer is another one."""
    parts = (found["outputs"], found["gradients"], found["buffers"])
    return any(part["how"] == "differ" for part in parts)


@dataclass
class RunComparison:
    """The comparison of the run of a recorded call with that of its rewritten model.

    `exact` is the recorded call's run in float64, where there was one.
    """

    private: SavedRun
    public: EquivalenceRun
    request: EquivalenceRequest
    registry: Registry
    model: Any
    exact: Optional[SavedRun]

    def compare(self) -> EquivalenceAnswer:
        """How alike they are."""
        expected = [leaf.detach() for leaf in self.private["results"]]
        actual = [leaf.detach() for leaf in self.public.results]
        exact, ids = self.exact, {label: id(t) for label, t in self.registry.given.items()}
        results = compare_lists(expected, actual, exact["results"] if exact else None)
        pairs: List[Tuple[Any, int]] = [
            (path, ids[label]) for path, label in self.request["mapping"].items()
        ]
        pairs += [(index, ids[label]) for index, label in enumerate(self.request["arguments"])]
        both = list(dict.fromkeys([*self.private["gradients"], *(i for _, i in pairs)]))
        keys = {identity: key for key, identity in reversed(pairs)}
        gradients = compare_lists(
            [self.private["gradients"].get(identity) for identity in both],
            [self.public.gradients.get(keys.get(identity)) for identity in both],
            [exact["gradients"].get(identity) if exact else None for identity in both],
        )
        gradients["how"] = judge_gradients(gradients, self.private, self.public)
        after = [(k, i) for k, i in pairs if k in self.public.tensors]
        buffers = compare_lists(
            [self.private["after"][identity] for _, identity in after],
            [self.public.tensors[key].detach() for key, _ in after],
            [exact["after"].get(identity) if exact else None for _, identity in after],
        )
        found: EquivalenceAnswer = {
            "outcome": CallOutcome.OK,
            "outputs": results,
            "gradients": gradients,
            "buffers": buffers,
            "operators": compare_operators(self.private["counts"], self.public.counts),
        }
        if has_differences(found):
            found["layer"] = self._find_first_layer()
        return found

    def _find_first_layer(self) -> Optional[str]:
        """The public path of the first layer whose results differ."""
        if not isinstance(self.model, torch.nn.Module):
            return None
        numbers = {entry: number for number, entry in self._number_modules().items()}
        calls: Dict[int, List[List[float]]] = {}
        for key, sums in self.private["layers"]:
            if key in numbers:
                calls.setdefault(numbers[key], []).append(sums)
        paths = {id(module): path for path, module in self.model.named_modules()}
        for key, sums in self.public.layers:
            path = paths.get(key)
            number = self.request["layers"].get(path) if path is not None else None
            if number is None or not calls.get(number):
                continue
            if not _are_close(calls[number].pop(0), sums):
                return str(path)
        return None

    def _number_modules(self) -> Dict[int, int]:
        return {int(entry["id"]): key for key, entry in self.registry.modules.items()}


def judge_gradients(
    compare: ListComparison, private: SavedRun, public: EquivalenceRun
) -> Closeness:
    """What may be said of gradients: "not compared" where the call goes back through its graph by
    itself and leaves none, and where all are zero, as those of any backward behind a dead ReLU.

    Args:
        compare: the comparison of the two runs' gradients; else its `how` is the answer.
        private: the run of the recorded call.
        public: the run of the rewritten program.

    Returns:
        "differ", whatever `compare` says, where only one run goes back through its graph by itself.
    """
    if private["freed"] != public.freed:
        return "differ"
    left = any(gradient is not None for gradient in public.gradients.values())
    if public.freed and not private["gradients"] and not left:
        return "not compared"
    gradients = [*private["gradients"].values(), *public.gradients.values()]
    if left and not any(_may_tell(gradient) for gradient in gradients):
        return "not compared"
    return compare["how"]


def _may_tell(gradient: Optional[torch.Tensor]) -> bool:
    if gradient is None:
        return False
    return gradient.layout != torch.strided or bool(gradient.any())


def compare_operators(private: Mapping[str, int], public: Mapping[str, int]) -> OperatorComparison:
    """What reached the dispatcher in two runs.

    Args:
        private: operator, as `str` gives its overload -> number of calls, of the recorded call.
        public: the same of the rewritten program.

    Returns:
        Operators of the user's own libraries stand together, without their names.
    """
    before, after = _hide_private_names(private), _hide_private_names(public)
    names = sorted(set(before) | set(after))
    changed = {
        name: [before.get(name, 0), after.get(name, 0)]
        for name in names
        if before.get(name, 0) != after.get(name, 0)
    }
    return {"same": not changed, "count": sum(before.values()), "changed": changed}


def _hide_private_names(counts: Mapping[str, int]) -> Dict[str, int]:
    """Counts by operator, those of the user's own libraries together and without their names."""
    found: Dict[str, int] = collections.Counter()
    for name, count in counts.items():
        found[name if name.split(".")[0] in NAMESPACES else "a custom operator"] += count
    return found


def _are_close(one: List[float], other: List[float]) -> bool:
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9) or a != a and b != b
        for a, b in zip(one, other)
    )
