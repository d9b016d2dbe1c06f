"""Dynamo's own functions by which a graph enters and leaves a region: they stand in it where the
program has a `with` statement.
"""

from __future__ import annotations

from typing import NamedTuple


class Region(NamedTuple):
    """What the program says there, and the name of the function that leaves it."""

    context: str
    leave: str


#: By the name of the function that enters it (`torch/amp/autocast_mode.py` and
#: `torch/autograd/grad_mode.py`, 2.13.0).
REGIONS = {
    "_enter_autocast": Region("torch.autocast", "_exit_autocast"),
    "_enter_inference_mode": Region("torch.inference_mode", "_exit_inference_mode"),
}
LEAVES = frozenset(region.leave for region in REGIONS.values())
