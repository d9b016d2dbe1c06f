"""python -m tests.mutation [AREA ...]: draws the mutants, runs the tests of each, and prints a
table and the survivors.
"""

from __future__ import annotations

import argparse
import os
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from tests.mutation.areas import AREAS, SEED, TESTS, WANTED, Area
from tests.mutation.choice import Choice
from tests.mutation.copies import Copy
from tests.mutation.mutants import Mutant, sample

ROOT = Path(__file__).resolve().parents[2]
#: Mutants that no test can find, because they do what the original does; by the changed lines.
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
_MOST_TESTS = 300
_NO_SUCH_TEST = 4  # an exit code of pytest


@dataclass(frozen=True)
class Fate:
    """What became of a mutant: killed, survived, timed out or equivalent; and the last words of the
    tests.
    """

    area: str
    mutant: Mutant
    fate: str
    tests: int


def main(words: Sequence[str] | None = None) -> int:
    """The exit code is 1 if too many mutants of an area survive."""
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("areas", nargs="*", help="default: all")
    parser.add_argument("--seed", default=SEED)
    parser.add_argument("--tests", nargs="*", default=TESTS, help="where to look for them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--factor", type=float, default=1.0, help="the size of the sample")
    given = parser.parse_args(words)
    areas = [area for area in AREAS if not given.areas or area.name in given.areas]
    if len(areas) < len(set(given.areas)):
        parser.error(f"the areas are: {', '.join(area.name for area in AREAS)}")
    started = time.monotonic()
    fates = _run(areas, given)
    print(_survivors(fates))
    print(_table(areas, fates))
    print(f"{len(fates)} mutants in {(time.monotonic() - started) / 60:.0f} minutes")
    return int(any(_share(area, fates) < WANTED for area in areas))


def _run(areas: Sequence[Area], given: argparse.Namespace) -> list[Fate]:
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = [Copy(ROOT, Path(folder) / str(number)) for number in range(given.jobs)]
        print(f"running {' '.join(given.tests)} for what runs which line …", flush=True)
        choice = Choice(copies[0], given.tests)
        print("drawing mutants …", flush=True)
        work = [
            (area.name, mutant)
            for area in areas
            for mutant in sample(
                copies[0].root, area.modules, int(area.sample * given.factor), given.seed
            )
        ]
        free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
        for copy in copies:
            free.put(copy)
        lock = threading.Lock()
        same = _equivalent()

        def judged(item: tuple[str, Mutant]) -> Fate:
            area, mutant = item
            copy = free.get()
            try:
                fate = _judged(area, mutant, copy, choice, same)
            finally:
                free.put(copy)
            with lock:
                print(f"{fate.fate:10} {mutant.place} ({fate.tests} tests)", flush=True)
                if fate.fate == "survived":
                    print(mutant.diff, flush=True)
            return fate

        with ThreadPoolExecutor(given.jobs) as pool:
            return list(pool.map(judged, work))


def _judged(area: str, mutant: Mutant, copy: Copy, choice: Choice, same: frozenset[str]) -> Fate:
    if _key(mutant.diff) in same:
        return Fate(area, mutant, "equivalent", 0)
    tests = choice.tests(mutant)[:_MOST_TESTS]
    if not tests:
        return Fate(area, mutant, "survived", 0)
    # ten times what they take, and a minute for a machine that has other things to do
    limit = 60 + 10 * sum(choice.seconds.get(name, 0.01) for name in tests)
    with copy.with_fault(mutant):
        code = copy.pytest(["-x", copy.chosen(tests)], limit)
        if code == _NO_SUCH_TEST:  # the fault is in what a test's name is made of
            files = sorted({name.partition("::")[0] for name in tests})
            code = copy.pytest(["-x", copy.chosen(files)], 60 + limit)
    fate = "timed out" if code is None else "survived" if code == 0 else "killed"
    return Fate(area, mutant, fate, len(tests))


def _equivalent() -> frozenset[str]:
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("mutant", ())
    return frozenset(_key(entry["diff"]) for entry in entries)


def _key(diff: str) -> str:
    return "\n".join(line[0] + line[1:].strip() for line in diff.strip().splitlines())


def _share(area: Area, fates: Sequence[Fate]) -> float:
    """The part of the mutants that was found; one that makes the tests run for ever is found as
    well.
    """
    mine = [item.fate for item in fates if item.area == area.name and item.fate != "equivalent"]
    return sum(fate != "survived" for fate in mine) / len(mine) if mine else 1.0


def _table(areas: Sequence[Area], fates: Sequence[Fate]) -> str:
    kinds = ("killed", "timed out", "survived", "equivalent")
    lines = [f"{'area':12} {'mutants':>8} " + " ".join(f"{kind:>10}" for kind in kinds) + "  found"]
    for area in areas:
        mine = [item.fate for item in fates if item.area == area.name]
        counts = " ".join(f"{mine.count(kind):10}" for kind in kinds)
        lines.append(f"{area.name:12} {len(mine):8} {counts} {_share(area, fates):6.0%}")
    return "\n".join(lines)


def _survivors(fates: Sequence[Fate]) -> str:
    left = [item for item in fates if item.fate == "survived"]
    return "\n".join(
        f"\n{item.mutant.place} [{item.area}], run by {item.tests} tests\n{item.mutant.diff}"
        for item in left
    )


if __name__ == "__main__":
    sys.exit(main())
