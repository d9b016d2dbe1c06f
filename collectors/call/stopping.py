"""How a process that has reached its limit says where it is, before it ends. Standard library only.

Whoever keeps the limit sends `SIGNAL`. faulthandler writes the stacks of all threads, for which it
needs neither Python's lock nor a call that returns, and hands the signal on to what it does by
default: it ends the process. So whoever waits for the end knows that the stacks are complete, and
no clock has to run in the process itself.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal

SIGNAL = signal.SIGUSR2
#: Seconds until the end is not waited for any longer: the kernel has the process, or the call has
#: taken the signal for itself.
PATIENCE = 10.0


def prepare() -> None:
    """Has `SIGNAL` end this process with its stacks written to descriptor 2, and a crash as well.

    What the program itself does upon that signal is put aside, which is possible in the main thread
    only.
    """
    faulthandler.enable(file=2)
    faulthandler.unregister(SIGNAL)  # registered twice, it would keep the program's own file
    with contextlib.suppress(ValueError):
        signal.signal(SIGNAL, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [SIGNAL])
    faulthandler.register(SIGNAL, file=2, all_threads=True, chain=True)


def stop(pid: int) -> None:
    """Asks a prepared process to write its stacks and to end."""
    with contextlib.suppress(OSError):
        os.kill(pid, SIGNAL)
