"""How a process that has reached its limit says where it is, before it ends. Standard library only.

Whoever keeps the limit sends `STOP_SIGNAL`. faulthandler writes the stacks of all threads, for
which it needs neither Python's lock nor a call that returns, and hands the signal on to what it
does by default: it ends the process. So whoever waits for the end knows that the stacks are
complete, and no clock has to run in the process itself.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal

from ..protocol.starting import STOP_SIGNAL


def prepare() -> None:
    """Has `STOP_SIGNAL` end this process with its stacks written to descriptor 2.

    A crash writes them as well.

    What the program itself does upon that signal is put aside, which is possible in the main thread
    only.
    """
    faulthandler.enable(file=2)
    faulthandler.unregister(STOP_SIGNAL)  # registered twice, it would keep the program's own file
    with contextlib.suppress(ValueError):
        signal.signal(STOP_SIGNAL, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [STOP_SIGNAL])
    faulthandler.register(STOP_SIGNAL, file=2, all_threads=True, chain=True)


def stop(pid: int) -> None:
    """Asks a prepared process to write its stacks and to end."""
    with contextlib.suppress(OSError):
        os.kill(pid, STOP_SIGNAL)
