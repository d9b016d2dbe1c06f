"""`bugreport hook`: where the module is that a running program asks for a report with."""

from __future__ import annotations

from dataclasses import dataclass

from reporter.cli import shell
from reporter.cli.parameters import declare_options
from reporter.core.json_values import Json
from reporter.core.settings import Options


@dataclass(frozen=True)
class Hook:
    """The folder that holds the importable package `bugreport`, and nothing else."""

    path: str
    exit_code: int = 0

    def to_json(self) -> Json:
        """The JSON document."""
        return {"schema_version": shell.SCHEMA_VERSION, "path": self.path}

    def summarize(self) -> list[str]:
        """The path alone, for use in a shell."""
        return [self.path]


@declare_options("json")
def run_command(options: Options) -> int:
    """Print the folder for PYTHONPATH that makes `import bugreport` work in your programs.

    It holds one package of that name and nothing else: PYTHONPATH="$(bugreport hook)" python
    train.py, with `bugreport.capture()` or `bugreport.watch()` in it, or PYTHONPATH="$(bugreport
    hook)" pytest -p bugreport.pytest.
    """

    def work() -> shell.CommandResult:
        from reporter.execution.launch import COLLECTORS

        return Hook(str(COLLECTORS / "hook"))

    return shell.finish(options, work)
