"""What a process may take, and who sees to it: the kernel where it counts per sandbox, our own
watch where it does not.

- Wall time, output: the watch (`reporter.sandbox.sandbox`), which kills everything in the sandbox.
- Memory of all processes together, and of the machine: the watch (`reporter.sandbox.watch`), every
  50 ms.
- Memory of one process (`RLIMIT_DATA`), its CPU seconds, size of one file, open files, core dumps:
  the kernel.
- Processes and threads: the kernel (`RLIMIT_NPROC` of a user, or user namespace, that only this
  sandbox has), and the watch.
- Bytes on disk: the kernel. There is no disk, only memory file systems of a fixed size.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

MIB = 2**20
GIB = 2**30


def _count_cpus() -> int:
    return os.cpu_count() or 1


@dataclass(frozen=True)
class Limits:
    """Limits of one sandbox. Sizes in bytes, times in seconds.

    `memory` is private memory of all processes together, `tasks` their threads; torch and the
    compilers it starts have threads for each CPU. `cpu` is per process, `disk` is home, working
    folder and temporary files together, `output` is what is kept of each stream (its beginning and
    its end), `flood` what may be printed before the run is ended.
    """

    seconds: float = 120.0
    memory: int = 8 * GIB
    tasks: int = field(default_factory=lambda: 384 + 64 * _count_cpus())
    cpu: float = field(default_factory=lambda: 600.0 * _count_cpus())
    file: int = GIB
    disk: int = 2 * GIB
    output: int = 256 * 1024
    flood: int = 64 * MIB

    def list_prlimit_options(self) -> list[str]:
        """The options of `prlimit` for one process."""
        return [
            f"--data={self.memory}",
            # first a signal that tells why, then one that cannot be ignored
            f"--cpu={max(1, int(self.cpu))}:{max(1, int(self.cpu)) + 5}",
            f"--fsize={self.file}",
            "--core=0",
            "--nofile=4096",
        ]
