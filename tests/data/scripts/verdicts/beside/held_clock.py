"""A clock that a program holds itself: a limit of minutes is reached at once, and by nothing that only is slow.

The program imports this before torch. What has passed is a file beside it; the test reads the same file for the
limit of the program's own call.
"""

import os
import time
from pathlib import Path

HERE = Path(__file__).parent
DAY = 86400.0
_PROGRAM = os.getpid()
_monotonic = time.monotonic


def passed(folder=HERE):
    """The seconds that were let pass."""
    try:
        return sum(map(float, (folder / "passed").read_text().split()))
    except FileNotFoundError:
        return 0.0


def pass_by(seconds):
    """Lets so many seconds pass."""
    with open(HERE / "passed", "a") as file:
        file.write(f"{seconds}\n")


def once(name):
    """Whether this is the first process that asks this."""
    try:
        os.close(os.open(HERE / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def in_the_program():
    """Whether this is the program itself, and no repetition of its call."""
    return os.getpid() == _PROGRAM


def stand_still():
    """Does not return. A day passes when nothing else is under way that could end."""
    (HERE / f"still-{os.getpid()}").touch()
    if in_the_program():
        pass_by(DAY)
    while True:
        time.sleep(60)


def _held():
    """The clock of this process, whose children's limits it may keep."""
    still = {path.name.partition("-")[2]: path for path in HERE.glob("still-*")}
    if still:
        children = _children()
        if children and children <= set(still):
            for child in children:
                still[child].rename(HERE / f"left-{child}")
            pass_by(DAY)
    return _monotonic() + passed()


def _children():
    """Those that nobody has waited for count too: one whose threads are still ending cannot be waited for yet."""
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if int(parent) == os.getpid():
                found.add(folder.name)
    return found


time.monotonic = _held
