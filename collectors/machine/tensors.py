"""What is read of a tensor without an import of torch, which only the program decides on."""

from __future__ import annotations

from typing import Any, Optional

#: A number this far above all others is seldom met by random ones from the whole range.
_FAR = 16


def read_version_counter(tensor: Any) -> int:
    """How often a tensor was written to; -1 for inference tensors, which have no counter."""
    try:
        return int(tensor._version)
    except RuntimeError:
        return -1


def find_padding(values: Any) -> Optional[int]:
    """The number that says "nothing here" in indices and labels, which no operator takes for one of
    them: the only negative one, below -1 (`ignore_index=-100` of torch's losses), or one that
    recurs, further above all others than these are apart (255 in masks of a segmentation).

    Args:
        values: a tensor of whole numbers, of any shape, with at least one element.

    Returns:
        The number; None where there is none.
    """
    low, high = values.min(), values.max()
    above, below = values[values > low], values[values < high]
    if not above.numel():
        return None
    if low < -1 and above.min() >= 0:
        return int(low)
    width = max(int(below.max() - below.min()), _FAR)
    recurs = int((values == high).sum()) > 1
    return int(high) if recurs and high - below.max() > width else None
