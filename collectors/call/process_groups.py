"""A fork cannot use its parent's process group, since gloo's threads stay behind: it gets a backend
of its own, in place.

Only groups of one process can be given one, for they have nobody to talk to. The new backend is
registered on the same `ProcessGroup` object, so that everything that holds it,
`DistributedDataParallel`'s reducer too, goes on working.
"""

from __future__ import annotations

import sys
from typing import Any, List, Optional

_KEPT: List[Any] = []  # the old backends' destructors would wait for threads that are not there


def world_size() -> Optional[int]:
    """How many processes the default group has; None without a group.

    Never imports torch.distributed.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return int(distributed.get_world_size())


def revive() -> None:
    """In a fork of a process with groups of one: each group gets a new gloo backend for the CPU."""
    if world_size() != 1:
        return
    import torch
    from torch.distributed import distributed_c10d as c10d

    if not hasattr(c10d, "ProcessGroupGloo"):
        return
    symbols = getattr(c10d, "_world", None)
    groups = list(symbols.pg_map if symbols is not None else c10d._pg_map)
    for group in groups:
        fresh = c10d.ProcessGroupGloo(torch.distributed.HashStore(), 0, 1)
        # under another type than gloo's, where the group would hand out the backend that it knows
        kind = c10d.ProcessGroup.BackendType.CUSTOM
        group._register_backend(torch.device("cpu"), kind, fresh)
        _KEPT.append(fresh)
