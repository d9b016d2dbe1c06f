"""Values as JSON has them."""

from __future__ import annotations

import math
from typing import Any

#: A JSON object whose shape is written down where it is made: by the target, or in
#: `report.sections`.
Json = dict[str, Any]


def make_plain(value: Any) -> Any:
    """JSON values as JSON reads them: lists, and texts for the numbers that it lacks."""
    if isinstance(value, dict):
        return {key: make_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [make_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
