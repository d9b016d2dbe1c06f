"""A fork cannot use its parent's process group, since gloo's threads stay behind: it gets a backend
of its own, in place.

A group of one process has nobody to talk to, and gets gloo again. In a larger one nobody answers a
fork, so that its collectives return at once with whatever their outputs hold: eager and compiled
alike. The new backend is registered on the same `ProcessGroup` object, so that everything that
holds it, `DistributedDataParallel`'s reducer too, goes on working.
"""

from __future__ import annotations

import sys
from typing import Any, List, Optional

_KEPT: List[Any] = []  # the old backends' destructors would wait for threads that are not there


def read_world_size() -> Optional[int]:
    """How many processes the default group has; None without a group.

    Never imports torch.distributed.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return int(distributed.get_world_size())


def revive() -> None:
    """In a fork of a process with groups: each one gets a new backend for the CPU."""
    if read_world_size() is None:
        return
    import torch
    from torch.distributed import distributed_c10d as c10d

    symbols = getattr(c10d, "_world", None)
    groups = list(symbols.pg_map if symbols is not None else c10d._pg_map)
    for group in groups:
        fresh = (
            _find_single_backend(c10d)
            if group.size() == 1
            else _make_silent(group.rank(), group.size())
        )
        if fresh is None:
            continue
        # under another type than gloo's, where the group would hand out the backend that it knows
        kind = c10d.ProcessGroup.BackendType.CUSTOM
        group._register_backend(torch.device("cpu"), kind, fresh)
        _KEPT.append(fresh)


def _find_single_backend(c10d: Any) -> Any:
    """Gloo for one process; None where torch was built without it."""
    if not hasattr(c10d, "ProcessGroupGloo"):
        return None
    import torch

    return c10d.ProcessGroupGloo(torch.distributed.HashStore(), 0, 1)


def _make_silent(rank: int, size: int) -> Any:
    """A backend whose collectives do nothing (`torch/csrc/distributed/c10d/FakeProcessGroup.hpp`);
    None in releases without one.
    """
    import torch

    fake = getattr(torch._C._distributed_c10d, "FakeProcessGroup", None)
    if fake is None:
        return None
    return getattr(fake, "_create_internal", fake)(rank, size)
