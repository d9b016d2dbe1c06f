"""A program in which DistributedDataParallel reduces nothing, so that each process trains alone,
and what the steps of its training have in common.

With `static_graph=True` a program promises that the parameters which are used, and how the graph is
trained, stay the same (torch/nn/parallel/distributed.py, 2.13). The reducer refuses a step that
breaks this. Without it the steps can be looked at.
"""

from __future__ import annotations

import atexit
import functools
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Optional

import torch
from torch.utils._pytree import tree_flatten

from ...machine.files import write_json
from ...protocol.starting import TrainingFacts


class _Step(NamedTuple):
    """Functions of the graph of what a step returns, by name, and how often each parameter got a
    gradient.
    """

    functions: Counter[str]
    gradients: Counter[str]


class TrainingSteps:
    """The steps of the training of one process, of which the file `path` tells."""

    def __init__(self, path: Optional[str]) -> None:
        self.path = path
        self._steps: Dict[int, List[_Step]] = {}

    def follow(self, model: Any) -> None:
        """Counts the gradients of a model's parameters from now on."""
        steps = self._steps.setdefault(id(model), [])

        def count(name: str, gradient: Any) -> None:
            if steps:
                steps[-1].gradients[name] += 1

        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.register_hook(functools.partial(count, name))

    def begin(self, model: Any, result: Any) -> None:
        """Notes a step by what the model returns for it; without a graph it is none."""
        self.save()
        functions = _count_functions(result)
        if functions:
            self._steps.setdefault(id(model), []).append(_Step(functions, Counter()))

    def describe(self) -> TrainingFacts:
        """What is known so far, up to the last step that gave a gradient."""
        trained = [_drop_last(steps) for steps in self._steps.values()]
        return {
            "steps": max(map(len, trained), default=0),
            "alike": all(step == steps[0] for steps in trained for step in steps),
        }

    def save(self) -> None:
        """Writes it, whole or not at all."""
        if self.path is not None:
            write_json(self.path, self.describe())


def _drop_last(steps: List[_Step]) -> List[_Step]:
    """Without the last ones that no gradient was asked of, or not yet."""
    count = max((n for n, step in enumerate(steps, 1) if step.gradients), default=0)
    return steps[:count]


def _count_functions(result: Any) -> Counter[str]:
    leaves = [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, torch.Tensor)]
    waiting = [leaf.grad_fn for leaf in leaves if leaf.grad_fn is not None]
    seen = set(waiting)
    while waiting:
        for function, _ in waiting.pop().next_functions:
            if function is not None and function not in seen:
                seen.add(function)
                waiting.append(function)
    return Counter(function.name() for function in seen)


def train_alone(path: Optional[str] = None) -> None:
    """Has DistributedDataParallel reduce nothing from now on, and notes the steps in a file."""
    parallel, steps = torch.nn.parallel.DistributedDataParallel, TrainingSteps(path)
    make, call = parallel.__init__, parallel.forward

    @functools.wraps(make)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        steps.follow(self.module)

    @functools.wraps(call)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.require_backward_grad_sync = False  # `no_sync` gives it back
        result = call(self, *args, **kwargs)
        steps.begin(self.module, result)
        return result

    parallel.__init__, parallel.forward = __init__, forward
    parallel._set_static_graph = lambda self: None
    atexit.register(steps.save)
