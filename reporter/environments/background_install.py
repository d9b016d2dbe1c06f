"""Installing releases in a process of its own, while a command does something else.

The locks and markers of `environments` do the rest: whoever needs a release sooner waits for it,
and what was cut off is made anew.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence

from reporter.core.errors import BugreportError
from reporter.environments.cache_folder import find_cache_folder
from reporter.environments.environments import Environments
from reporter.environments.selection import Selection, select_releases
from reporter.execution import launch


def install(texts: Sequence[str]) -> None:
    """Makes the environments that `--releases` asks for, as far as they can be made."""
    environments = Environments(find_cache_folder())
    for text in texts:
        # whoever needs the release asks for it again, and says what is wrong
        with contextlib.suppress(BugreportError, OSError):
            for release in select_releases(Selection(torch=(text,))):
                environments.provide(release)


@contextlib.contextmanager
def install_in_background(
    texts: Sequence[str], work: Callable[[Sequence[str]], None] = install
) -> Iterator[None]:
    """Runs `work` on the words of `--releases` within; what it has not installed by the end of
    that is given up. Without words nothing is started.
    """
    if not texts:
        yield
        return
    process = multiprocessing.get_context("spawn").Process(
        target=_lead_group, args=(work, tuple(texts)), daemon=True
    )
    process.start()
    try:
        yield
    finally:
        assert process.pid is not None
        launch.kill_group(process.pid)  # with its installer
        process.kill()
        process.join()


def _lead_group(work: Callable[[Sequence[str]], None], texts: Sequence[str]) -> None:
    """`work` in a process group of its own, which Ctrl-C does not reach before we end it."""
    os.setsid()
    work(texts)
