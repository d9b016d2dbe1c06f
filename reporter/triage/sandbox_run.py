"""Runs inside the sandbox, with the whole tool beside the foreign code: what comes out is one line
of JSON, to be read as a stranger's.

`sandbox_main` starts it: the program is `repro.py` in the working folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path

from reporter.core.errors import BugreportError
from reporter.core.json_values import Json
from reporter.core.program_account import ProgramAccount
from reporter.core.settings import Options
from reporter.execution.compiler_cache import name_warm_folder
from reporter.pipeline import create
from reporter.report.folder import ISSUE, REPRO, TEST
from reporter.triage.attempt import SEED
from reporter.triage.sandboxed_verdict import MARK


def main(verb: str, python: str, jobs: str, timeout: str, memory: str) -> None:
    """Diagnoses or reduces `repro.py` and prints the document behind `MARK`.

    Args:
        verb: `diagnose` or `create`.
        python: path of the interpreter.
        jobs: candidates at a time, as text, like the other numbers.
        timeout: seconds for one run.
        memory: GiB for one candidate.
    """
    _lend(Path(python))
    accounts: list[ProgramAccount] = []
    output = Path(os.environ.get("TMPDIR", "/tmp")) / "report"
    options = Options(
        script=Path("repro.py"),
        python=Path(python),
        output=output,
        json=True,
        jobs=int(jobs),
        timeout=float(timeout),
        memory=float(memory),
        no_input=True,
        keep_source=True,
        untrusted=accounts.append,
    )
    answer: Json
    try:
        result = create.diagnose(options) if verb == "diagnose" else create.create(options)
        answer = {"exit_code": result.exit_code, "document": result.to_json()}
        files = {name: output / name for name in (REPRO, TEST, ISSUE)}
        answer["files"] = {
            name: path.read_text(encoding="utf-8")[:65536]
            for name, path in files.items()
            if path.is_file()
        }
    except BugreportError as error:
        answer = {"exit_code": error.exit_code, "error": str(error)}
    answer["account"] = asdict(accounts[0]) if accounts else None
    sys.stdout.write(f"\n{MARK}{json.dumps(answer)}\n")
    sys.stdout.flush()


def _lend(python: Path) -> None:
    """Puts what a warm-up outside found out where this run looks for it; the folder itself cannot
    be written to.
    """
    seed = Path(SEED)
    if seed.is_dir():
        target = name_warm_folder(python)
        with contextlib.suppress(OSError, shutil.Error):  # it only saves time
            shutil.copytree(seed, target, dirs_exist_ok=True)
