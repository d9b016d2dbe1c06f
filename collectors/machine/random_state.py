"""The generators of random numbers that a program draws from without naming one: torch's on the CPU
and on the GPUs in use, Python's and NumPy's.

What is run twice for a comparison begins both times at the same `RandomState`.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from typing import Any, List, Optional

import torch


@dataclass(frozen=True)
class RandomState:
    """What these generators are at.

    `torch` are the states of torch's own (`read_torch_generators`), `python` is what
    `random.getstate` returned, `numpy` what `numpy.random.get_state` did, or None where the program
    has not imported it.
    """

    torch: List[torch.Tensor]
    python: Any
    numpy: Any

    @classmethod
    def read(cls, python: Any = None) -> RandomState:
        """What they are at now.

        Args:
            python: a state for Python's in place of its present one, which every fork seeds anew.
        """
        generators = python if python is not None else random.getstate()
        return cls(read_torch_generators(), generators, _read_numpy())

    def restore(self) -> None:
        """Puts them all back; GPUs that were not in use then stay as they are."""
        on_cpu, *on_gpus = self.torch
        torch.set_rng_state(on_cpu)
        if on_gpus:
            torch.cuda.set_rng_state_all(on_gpus)
        random.setstate(self.python)
        if self.numpy is not None and "numpy" in sys.modules:
            sys.modules["numpy"].random.set_state(self.numpy)

    def find_moved(self) -> List[str]:
        """Which are at something else now: "torch", "random" for Python's, "numpy"."""
        now = RandomState.read()
        moved = {
            "torch": not _is_same(self.torch, now.torch),
            "random": self.python != now.python,
            "numpy": self.numpy is not None and _freeze(self.numpy) != _freeze(now.numpy),
        }
        return [name for name, has_moved in moved.items() if has_moved]


def read_torch_generators(generator: Optional[torch.Generator] = None) -> List[torch.Tensor]:
    """The states of torch's generators: the CPU's, then those of all GPUs once one is in use; or
    that of one `generator` alone.
    """
    if generator is not None:
        return [generator.get_state()]
    on_gpus = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return [torch.get_rng_state(), *on_gpus]


def has_torch_drawn(
    before: List[torch.Tensor], generator: Optional[torch.Generator] = None
) -> bool:
    """Whether what `read_torch_generators` reads is not what it was."""
    return not _is_same(before, read_torch_generators(generator))


def _is_same(before: List[torch.Tensor], now: List[torch.Tensor]) -> bool:
    # GPUs that have come into use since had nothing to draw before
    return all(map(torch.equal, before, now))


def _read_numpy() -> Any:
    numpy = sys.modules.get("numpy")
    return numpy.random.get_state() if numpy is not None else None


def _freeze(state: Any) -> Any:
    """A state of NumPy's generator as something that compares: its numbers are an array."""
    return [part.tobytes() if hasattr(part, "tobytes") else part for part in state]
