"""Which differences in Python's state count: those of a comparison that no other eager run has.

A clock, an address or a counter of something else makes eager differ from eager. Such effects are
left out before anything else is judged: they must neither be blamed on the compiler nor stand in
the way of what excuses the values beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from collectors.protocol.comparison import Comparison, MetadataDifference

_WHERE = "Python state "


def is_state(item: MetadataDifference) -> bool:
    """Whether a difference is one in Python's state, and none of an output."""
    return item["where"].startswith(_WHERE)


def drop_state(comparison: Comparison) -> Comparison:
    """The same comparison of outputs, inputs and gradients alone."""
    metadata = [item for item in comparison["metadata"] if not is_state(item)]
    if metadata == comparison["metadata"]:
        return comparison
    return replace_metadata(comparison, metadata)


def replace_metadata(comparison: Comparison, metadata: list[MetadataDifference]) -> Comparison:
    """The same comparison of values, with other differences beside them."""
    values = comparison["values"]
    return {
        **comparison,
        "equal": not metadata and not values,
        "same": not metadata and all(item["same"] for item in values),
        "tight": not metadata and all(item["tight"] for item in values),
        "metadata": metadata,
    }


def settle(
    comparison: Comparison | None,
    others: Callable[[], Sequence[str] | None],
    compare: Callable[[Sequence[str]], Comparison | None],
) -> Comparison | None:
    """A comparison with those side effects alone that every eager run has.

    Args:
        others: makes other eager runs and returns the files of their snapshots; None if one of them
            fails, so that no side effect can be judged.
        compare: compares once more, given those files.
    """
    if comparison is None or not any(map(is_state, comparison["metadata"])):
        return comparison
    snapshots = others()
    return compare(snapshots) if snapshots else drop_state(comparison)
