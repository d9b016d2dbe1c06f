"""Golden files: for each kind of verdict a report of a real run, and the texts that are rendered
from it.

`python -m tests.support.golden` renders all texts anew from the stored documents; look at `git
diff`. With `--run KIND…` it makes documents anew by real runs, which takes minutes for each.

The runs need the interpreters of BUGREPORT_TEST_ENVS. A document is stored as the run wrote it, but
for what is about this machine.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from templates import issue_forms
from templates.diagnosis import render_ladder, render_verdict
from templates.issue import render_issue
from tests.support.places import DATA

HOME = DATA / "golden"
SCRIPTS = DATA / "scripts"


@dataclass(frozen=True)
class Case:
    """A script, the environment that has its bug, and further options."""

    script: Path
    environment: str = "v213"
    options: tuple[str, ...] = ()


#: A report for each kind of bug. `crash_on_recompile` has none: a crash that neither a fresh
#: compile nor `mark_dynamic` shows was found in no program yet.
BUGS = {
    "crash": Case(SCRIPTS / "foobar.py"),
    "wrong_result": Case(SCRIPTS / "alias_view_after_mutation_wrong_base.py"),
    "wrong_gradient": Case(SCRIPTS / "memory_budget_dropout_grad.py"),
    "wrong_metadata": Case(SCRIPTS / "any_uint8_becomes_bool.py"),
    "accepts_invalid": Case(SCRIPTS / "addmm_bad_broadcast_accepted.py"),
    "process_death": Case(SCRIPTS / "index_oob_embedding_offsets_abort.py"),
    "hang": Case(HOME / "scripts" / "hang.py", options=("--timeout", "30")),
    "stale_graph": Case(SCRIPTS / "stale_offset_backend.py"),
}
#: A verdict for what is no bug.
NO_BUGS = {
    "invalid_program": Case(HOME / "scripts" / "invalid_program.py"),
    "not_reproduced": Case(SCRIPTS / "frexp.py"),
    "rng": Case(SCRIPTS / "dropout_rng_mismatch.py"),
    "precision_cast": Case(SCRIPTS / "half_where_cast_elision.py"),
}
#: Kinds whose document has still to be made by `--run`.
MISSING: set[str] = set()


def stored(kinds: dict[str, Case]) -> list[str]:
    """Those of `kinds` that have a document."""
    return [kind for kind in kinds if (HOME / kind / "report.json").exists()]


def document(kind: str) -> dict[str, Any]:
    """The stored report of `kind`."""
    found: dict[str, Any] = json.loads((HOME / kind / "report.json").read_text(encoding="utf-8"))
    return found


def issue(kind: str) -> str:
    """The issue that the tool writes today for the stored report."""
    report = document(kind)
    repro = (HOME / kind / "repro.py").read_text(encoding="utf-8")
    name = report["issue"]["form"]
    return render_issue(report, repro, issue_forms.load(name))


def verdict(kind: str) -> str:
    """What `diagnose` prints today for the stored verdict."""
    report = document(kind)
    return "\n".join([*render_ladder(report), *render_verdict(report)]) + "\n"


def main(arguments: list[str]) -> None:
    """The command in the module's docstring."""
    if arguments[:1] == ["--run"]:
        for kind in arguments[1:] or [*BUGS, *NO_BUGS]:
            print(kind, _run(kind), flush=True)
    for kind in stored(BUGS):
        (HOME / kind / "issue.md").write_text(issue(kind), encoding="utf-8")
    for kind in stored(NO_BUGS):
        (HOME / kind / "verdict.txt").write_text(verdict(kind), encoding="utf-8")


def _run(kind: str) -> str:
    from tests.conftest import python_in
    from tests.support.created import bugreport

    case = BUGS.get(kind) or NO_BUGS[kind]
    python = python_in(case.environment)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script = folder / "script.py"
        script.write_text(case.script.read_text(encoding="utf-8"), encoding="utf-8")
        verb = "create" if kind in BUGS else "diagnose"
        where = ["-o", folder / "report"] if kind in BUGS else []
        more = ["--json", "--no-input", "-j2", "--python", python, *where, *case.options]
        done = bugreport(verb, *more, script, cwd=folder, timeout=1800)
        found = json.loads(done.stdout)
        if found.get("verdict", {}).get("kind") != kind:
            return f"is {found.get('verdict', found)}: {done.stderr[-300:]}"
        if kind in BUGS and not (folder / "report" / "repro.py").exists():
            return f"has no repro: {done.stderr[-300:]}"
        home = HOME / kind
        home.mkdir(parents=True, exist_ok=True)
        text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
        (home / "report.json").write_text(_public(text, folder, python), encoding="utf-8")
        if kind in BUGS:
            for item in ("repro.py", "test_repro.py"):
                (home / item).write_text((folder / "report" / item).read_text("utf-8"), "utf-8")
        return "done"


def _public(text: str, folder: Path, python: Path) -> str:
    """Without the paths of this machine."""
    text = text.replace(str(python), "python").replace(f"{folder}/", "")
    return re.sub(r"--python \S*python", "--python python", text)


if __name__ == "__main__":
    main(sys.argv[1:])
