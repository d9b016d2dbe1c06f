"""How a process was ended, in words."""

from __future__ import annotations

import signal


def name_signal(number: int) -> str:
    """`SIGSEGV`; `signal 34` for one that has no name of its own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
