"""What a user is told who gives something that cannot be used."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reporter.core.errors import UsageError


def refusal(work: Callable[[], object]) -> str:
    """The sentence with which `work` refuses; it has to be one line that names the way out."""
    with pytest.raises(UsageError) as caught:
        work()
    message = str(caught.value)
    assert "\n" not in message
    assert ";" in message, "a refusal names the way out"
    return message
