"""`python -m tests.fuzz [SECONDS] [TARGET…]`: all targets in turn, for ten minutes by default.

Prints for each target how often it was executed and what went wrong, with the input that shows it.
What was found is kept in `.hypothesis` and tried first the next time.
"""

from __future__ import annotations

import sys
import time
import traceback

from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.targets import Target, targets


def fuzz(name: str, target: Target, seconds: float) -> tuple[int, str]:
    """How often a target was executed in that time, and its defect, if there is one."""
    run, strategy, permitted = target
    executed, end = 0, time.monotonic() + seconds

    def test(given_value: object) -> None:
        nonlocal executed
        executed += 1
        try:
            run(given_value)
        except permitted:
            pass

    checked = settings(
        max_examples=200,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        phases=(Phase.reuse, Phase.generate),
    )(given(strategy)(test))
    while time.monotonic() < end:
        try:
            checked()
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{frame.filename}:{frame.lineno}: {type(error).__name__}: {error}"
            notes = "\n".join(getattr(error, "__notes__", ()))
            return executed, f"  {place[:300]}\n  {notes[:600]}\n"
    return executed, ""


def main() -> int:
    """Exit code 0 if nothing was found."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    chosen = sys.argv[2:] or list(targets())
    found = 0
    for name in chosen:
        executed, defect = fuzz(name, targets()[name], seconds / len(chosen))
        found += bool(defect)
        print(f"{name:18} {executed:7} executions  {'DEFECT' if defect else 'nothing found'}")
        print(defect, end="", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
