"""Which tests run which line: asked of coverage once, before there is a mutant."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from coverage import CoverageData

from tests.mutation.copies import Copy
from tests.mutation.mutants import Mutant

_DURATION = re.compile(r"^(\d+\.\d+)s (?:call|setup) +(\S.*)$", re.MULTILINE)


class Choice:
    """The tests of each line of the product, and how long each test takes."""

    def __init__(self, copy: Copy, tests: Sequence[str]) -> None:
        modules = [path.name for path in copy.root.iterdir() if (path / "py.typed").exists()]
        words = [f"--cov={name}" for name in modules]
        words += ["--cov-context=test", "--cov-report=", "--durations=0", "--durations-min=0.02"]
        if copy.pytest([*words, *tests], limit=3600) != 0:
            said = copy.said()[-6000:]
            raise SystemExit(f"the tests have to pass before a fault is put in:\n{said}")
        self.seconds: dict[str, float] = defaultdict(float)
        for seconds, name in _DURATION.findall(copy.said()):
            self.seconds[name] += float(seconds)
        self._data = CoverageData(str(copy.root / ".coverage"))
        self._data.read()
        self._root = copy.root

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that run the mutated line, those of the module itself first, then the quick
        ones.

        A line that only the import of the module runs concerns whoever runs anything of the module.
        """
        by_line = self._data.contexts_by_lineno(str(self._root / mutant.module))
        found = {name for line in mutant.lines for name in by_line.get(line, ())} - {""}
        if not found:
            found = {name for names in by_line.values() for name in names} - {""}
        stem = Path(mutant.module).stem
        return sorted(
            {name.rpartition("|")[0] or name for name in found},
            key=lambda name: (f"test_{stem}" not in name, self.seconds.get(name, 0.0), name),
        )
