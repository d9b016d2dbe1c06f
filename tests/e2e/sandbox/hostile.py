"""Programs that mean harm (tests/data/scripts/hostile), and what has to come of each.

They need no torch: what holds for plain Python holds for whatever runs in it. A program finds the
path of a secret, the folder of some keys and the number of an open port behind its name.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hostile:
    """The ending that a program must have (several where the race between kernel and watch
    decides), and a word of its output.

    `stays` is how many processes it wants to keep for ever, if that is what it is after; `runs` how
    often it is run.
    """

    endings: tuple[str, ...] = ("exited",)
    says: str = ""
    stays: int = 0
    runs: int = 1


PROGRAMS = {
    "reads_the_home": Hostile(says="found [] [] []"),
    "opens_a_socket": Hostile(says="refused"),
    "forks_without_end": Hostile(("exited", "tasks"), "held"),
    "allocates_without_end": Hostile(("exited", "memory"), "MemoryError"),
    "allocates_in_many_processes": Hostile(("memory",)),
    "writes_one_file_without_end": Hostile(says="File too large"),
    "writes_files_without_end": Hostile(("disk",)),
    "writes_everywhere": Hostile(says="done"),
    "ignores_every_signal": Hostile(("timeout",), stays=3),
    "leaves_a_child_behind": Hostile(says="gone"),
    "escapes_by_a_symbolic_link": Hostile(says="refused"),
    "prints_terminal_escapes": Hostile(says="red"),
    "poisons_the_cache": Hostile(says="before []", runs=2),
    "plants_a_sitecustomize": Hostile(says="clean", runs=2),
    "kills_its_parent": Hostile(("exited", "signal")),
    "prints_megabytes": Hostile(("flood",)),
    "reads_the_tokens": Hostile(says="nothing"),
    "becomes_somebody_else": Hostile(says="held"),
}
