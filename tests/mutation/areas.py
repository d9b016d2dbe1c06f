"""What is mutated, and by which tests a mutant may be found: the one place to edit when modules
move.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Another seed draws another sample.
SEED = "1"
#: At least so many of an area's mutants have to be found.
WANTED = 0.85


@dataclass(frozen=True)
class Area:
    """Modules with one promise.

    `modules` are patterns below the root of the repository, `sample` is how many mutants are drawn.
    """

    name: str
    sample: int
    modules: tuple[str, ...]


AREAS = (
    Area(
        "verdicts",
        90,
        (
            "reporter/diagnose/judge.py",
            "reporter/diagnose/differences.py",
            "reporter/diagnose/measuring.py",
            "reporter/diagnose/ladder.py",
            "reporter/diagnose/comparisons.py",
            "reporter/diagnose/diagnosis.py",
            "reporter/check/judging.py",
            "reporter/triage/decision.py",
        ),
    ),
    Area("signature", 50, ("reporter/core/signature.py",)),
    Area(
        "leak check",
        50,
        (
            "anonymizer/leakcheck/scanner.py",
            "anonymizer/leakcheck/terms.py",
            "anonymizer/leakcheck/patterns.py",
            "anonymizer/leakcheck/vocabulary.py",
        ),
    ),
    Area(
        "delivery",
        60,
        (
            "reporter/tracker/delivery.py",
            "reporter/tracker/posts.py",
            "reporter/tracker/submission.py",
            "reporter/tracker/filing.py",
        ),
    ),
    Area("store", 50, ("reporter/store/*.py", "reporter/check/result_sink.py")),
    Area(
        "sandbox",
        50,
        (
            "reporter/sandbox/limits.py",
            "reporter/sandbox/view.py",
            "reporter/sandbox/bubblewrap.py",
            "reporter/sandbox/watch.py",
            "reporter/sandbox/sandbox.py",
        ),
    ),
)

#: Tests that may find a mutant: no torch process, and no program that means harm. A sandbox with a
#: fault in it must never be given a hostile program: it would be this machine that the program then
#: has.
TESTS = ("tests/unit", "tests/e2e/sandbox/test_run.py")
