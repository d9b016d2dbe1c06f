"""Plain values, as JSON has them."""

from __future__ import annotations

from typing import Any

#: A JSON object whose shape is written down where it is made: by the target, or in
#: `report.sections`.
Json = dict[str, Any]
