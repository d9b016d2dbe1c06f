"""Copies of the working tree, in which mutants live: nothing is ever changed where somebody
works.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.mutation.mutants import Mutant

#: Python's caches go by the text, not by its time: a mutant may be written within the second of the
#: last one.
_COMPILE = ("-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "-x", "tests/data")
_PYTEST = ("-o", "addopts=", "-p", "no:cacheprovider", "-q", "-n0", "--hypothesis-seed=0")


class Copy:
    """A copy of the files that git knows or would know, with a temporary folder and a warm process
    of its own.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self._tmp = folder / "tree", folder / "tmp"
        self._tmp.mkdir(parents=True)
        self._log = folder / "log.txt"
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=root, check=True, capture_output=True, text=True).stdout
        for name in filter(None, names.split("\0")):
            with suppress(FileNotFoundError):  # removed, or moved while we copy
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.root / name)
        packages = [path.name for path in self.root.iterdir() if (path / "__init__.py").exists()]
        subprocess.run([sys.executable, *_COMPILE, *packages], cwd=self.root, check=True)
        places = {"PYTHONPATH": str(self.root), "TMPDIR": str(self._tmp), "HOME": str(self._tmp)}
        self._warm = subprocess.Popen(
            [sys.executable, "-m", "tests.mutation.warm"],
            cwd=self.root,
            env={**os.environ, **places},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def close(self) -> None:
        """Ends the warm process."""
        self._warm.communicate()

    def chosen(self, names: Sequence[str]) -> str:
        """The names as one argument of pytest."""
        file = self.root / ".tests-of-mutant"
        file.write_text("\n".join(names), encoding="utf-8")
        return f"@{file}"

    @contextmanager
    def with_fault(self, mutant: Mutant) -> Iterator[None]:
        """The mutant is there, and then the original again."""
        path = self.root / mutant.module
        path.write_text(mutant.after, encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(mutant.before, encoding="utf-8")

    def pytest(self, words: Sequence[str], limit: float) -> int | None:
        """pytest's exit code, from a fork of the warm process; None if it did not end in time."""
        assert self._warm.stdin is not None and self._warm.stdout is not None
        asked = {"words": [*_PYTEST, *words], "limit": limit, "log": str(self._log)}
        print(json.dumps(asked), file=self._warm.stdin, flush=True)
        code: int | None = json.loads(self._warm.stdout.readline())
        self._tidy()
        return code

    def said(self) -> str:
        """What the last run printed."""
        return self._log.read_text(encoding="utf-8", errors="replace")

    def _tidy(self) -> None:
        for left in self._tmp.iterdir():
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
