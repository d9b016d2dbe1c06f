"""Every option is declared once, as a field of `Options`; all the places it can be set derive from
that.

A field's `Setting` gives its flags, help text and how a text becomes its value. The command-line
parameters (`reporter.cli.parameters`) and what is read from variables and files
(`reporter.core.setting_sources`) come from this one declaration.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reporter.core import setting_readers
from reporter.core.program_account import ProgramAccount

if TYPE_CHECKING:  # nothing that is needed to say --help
    from collectors.protocol.words import Isolation


@dataclass(frozen=True)
class Setting:
    """How one option is spoken about: its flags, its help, and the reader of its values.

    `read` takes a text or a TOML value and raises ValueError with what it wants instead. An option
    with `everywhere=False` exists on the command line alone, because it makes sense for one run
    only. One with `many=True` may be given several times; its value is then a list of texts. A
    `hidden` one is for our own processes.
    """

    flags: tuple[str, ...]
    help: str
    read: Callable[[object], object]
    metavar: str | None = None
    everywhere: bool = True
    many: bool = False
    hidden: bool = False

    @property
    def is_switch(self) -> bool:
        """Whether the flag stands alone, without a value."""
        return self.metavar is None

    @property
    def long_flag(self) -> str:
        """The flag that messages use, `--jobs`."""
        return next(flag for flag in self.flags if flag.startswith("--"))


def _count_usable_cpus() -> int:
    """The CPUs this process may use, which in a container are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _choose_safe_workers() -> Isolation:
    """Fork is quicker, but what macOS's own libraries do behind a process's back does not survive
    it.
    """
    return "spawn" if sys.platform == "darwin" else "fork"


def _declare_option(default: Any, read: Callable[[Any], object], *flags: str, **more: Any) -> Any:
    """A dataclass field that is also an option; a callable default is asked anew for each run."""
    metadata = {"setting": Setting(flags, more.pop("help"), read, **more)}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class WorkingFolder:
    """Where the run was started; paths that were typed are relative to it."""

    cwd: Path = field(default_factory=Path.cwd)


@dataclass(frozen=True)
class InterpreterOptions(WorkingFolder):
    """Which interpreters have the torch in question.

    They are absolute unless they are bare command names, which `reporter.execution.interpreter`
    looks up on PATH.
    """

    python: Path | None = _declare_option(
        None,
        setting_readers.read_path,
        "--python",
        metavar="PATH",
        help=(
            "Interpreter that has your torch.  [default: the active environment's, else the tool's"
            " own]"
        ),
    )
    differs_from: tuple[Path, ...] = _declare_option(
        (),
        setting_readers.read_paths,
        "--differs-from",
        metavar="PATH",
        many=True,
        help=(
            "Interpreter with another torch in which the repro must pass; may be given several"
            " times."
        ),
    )


@dataclass(frozen=True)
class ProgramOptions(InterpreterOptions):
    """The program to look at.

    `script` stays as it was typed, because the program sees it as `sys.argv[0]`. `untrusted` is
    told how the run of a stranger's program ended, and what of its recorder it reached for.
    `resume`, absolute, is the folder of an interrupted run, which needs no program any more.
    """

    script: Path | None = None
    module: str | None = _declare_option(
        None,
        setting_readers.read_nonempty_text,
        "-m",
        "--module",
        metavar="MODULE",
        everywhere=False,
        help="Run a module as `python -m` does; what follows it belongs to the module.",
    )
    args: tuple[str, ...] = ()
    untrusted: Callable[[ProgramAccount], None] | None = None
    attach: Path | None = _declare_option(
        None,
        setting_readers.read_path,
        "--attach",
        metavar="DIR",
        everywhere=False,
        hidden=True,
        help="Report on a program that runs already and connects through this folder.",
    )
    resume: Path | None = _declare_option(
        None,
        setting_readers.read_path,
        "--resume",
        metavar="DIR",
        everywhere=False,
        help="Go on with the interrupted run that left this report folder.",
    )
    function: str | None = _declare_option(
        None,
        setting_readers.read_nonempty_text,
        "--function",
        metavar="NAME",
        everywhere=False,
        help="Let Dynamo compile only the function of this name, and leave all others to Python.",
    )


@dataclass(frozen=True)
class ProcessOptions:
    """What the processes of candidates may take: `timeout` in seconds, `memory` in GiB."""

    jobs: int = _declare_option(
        _count_usable_cpus,
        setting_readers.read_count,
        "-j",
        "--jobs",
        metavar="N",
        help="Candidates to run at the same time.  [default: the usable CPUs]",
    )
    timeout: float = _declare_option(
        300.0,
        setting_readers.read_seconds,
        "--timeout",
        metavar="SECONDS",
        help="Longest that one run may take; the script itself: without a sign of life."
        "  [default: 300]",
    )
    memory: float = _declare_option(
        4.0,
        setting_readers.read_gib,
        "--memory",
        metavar="GIB",
        help="Memory that one candidate may take.  [default: 4]",
    )
    workers: Isolation = _declare_option(
        _choose_safe_workers,
        setting_readers.read_workers,
        "--workers",
        metavar="fork|spawn",
        help=(
            "How the call and candidates get their processes; a call on CUDA is always run again."
            "  [default: fork, on macOS spawn]"
        ),
    )


@dataclass(frozen=True)
class WorkOptions(ProcessOptions):
    """How much is done for a report, and for how long."""

    seed: int = _declare_option(
        0,
        setting_readers.read_seed,
        "--seed",
        metavar="N",
        help="Seed that repros set before they draw random numbers.  [default: 0]",
    )
    quick: bool = _declare_option(
        False,
        setting_readers.read_switch,
        "--quick",
        help="Verdict, smallest program and fresh processes; nothing that only says more of them.",
    )
    budget: float = _declare_option(
        0.0,
        setting_readers.read_budget,
        "--budget",
        metavar="SECONDS",
        help="Longest that the whole answer may take, 0: as long as it needs.  [default: 0]",
    )
    evidence: float = _declare_option(
        60.0,
        setting_readers.read_budget,
        "--evidence",
        metavar="SECONDS",
        help=(
            "Longest that torch's debugging tools may run for the report, 0: not at all. "
            " [default: 60]"
        ),
    )


@dataclass(frozen=True)
class TalkOptions:
    """What is said to the user, and what may be asked."""

    json: bool = _declare_option(
        False,
        setting_readers.read_switch,
        "--json",
        help="One JSON document on stdout, all talk on stderr.",
    )
    no_input: bool = _declare_option(
        False, setting_readers.read_switch, "--no-input", help="Never ask anything."
    )
    verbose: bool = _declare_option(
        False, setting_readers.read_switch, "-v", "--verbose", help="Say more about each stage."
    )


@dataclass(frozen=True)
class FolderOptions(ProgramOptions):
    """Where the report goes; `output` is absolute."""

    output: Path | None = _declare_option(
        None,
        setting_readers.read_path,
        "-o",
        "--output",
        metavar="DIR",
        help="Report folder.  [default: a new folder bugreport-report in the working directory]",
    )
    force: bool = _declare_option(
        False,
        setting_readers.read_switch,
        "--force",
        everywhere=False,
        help="Replace a report that is already there.",
    )


@dataclass(frozen=True)
class IssueOptions:
    """What the issue says, and for whom."""

    keep_source: bool = _declare_option(
        False,
        setting_readers.read_switch,
        "--keep-source",
        help="The code is public: do not look for its names in the report.",
    )
    allow_values: tuple[str, ...] = _declare_option(
        (),
        setting_readers.read_repeated_texts,
        "--allow-values",
        metavar="NAME",
        everywhere=False,
        many=True,
        help=(
            "A tensor whose values may be written into the report, should made-up ones not do; may"
            " be given several times."
        ),
    )
    releases: tuple[str, ...] = _declare_option(
        (),
        setting_readers.read_releases,
        "--releases",
        metavar="V,V",
        help=(
            "Releases on which the finished repro is tried, such as latest,nightly,2.6.0; none:"
            " nowhere else.  [default: those whose environments are cached]"
        ),
    )
    bisect: bool = _declare_option(
        False,
        setting_readers.read_switch,
        "--bisect",
        help=(
            "Search for the neighboring releases of which one shows the failure and the other does"
            " not, and name them in the report. Installs what it asks."
        ),
    )
    repo: str | None = _declare_option(
        None,
        setting_readers.read_nonempty_text,
        "-R",
        "--repo",
        metavar="[HOST/]OWNER/REPO",
        help="Project that the report is for, as in -R pytorch/pytorch.",
    )
    summary: str | None = _declare_option(
        None,
        setting_readers.read_nonempty_text,
        "--summary",
        metavar="TEXT",
        everywhere=False,
        help="A sentence of your own for the issue.",
    )
    template: str | Path | None = _declare_option(
        None,
        setting_readers.read_template,
        "--template",
        metavar="NAME|FOLDER",
        help=(
            "Form of the issue: pytorch, triton, feature, plain, or a folder of your own."
            "  [default: by the layer at fault]"
        ),
    )
    as_request: bool = _declare_option(
        False,
        setting_readers.read_switch,
        "--as-request",
        everywhere=False,
        help="Report a limit that torch states (`unsupported`), as a feature request.",
    )


@dataclass(frozen=True)
class FilingOptions(IssueOptions):
    """How the issue is filed."""

    file: bool = _declare_option(
        False,
        setting_readers.read_switch,
        "--file",
        everywhere=False,
        help="File the report afterwards as `bugreport file` does; needs -R.",
    )
    labels: tuple[str, ...] = _declare_option(
        (),
        setting_readers.read_comma_list,
        "--labels",
        metavar="NAME,…",
        everywhere=False,
        help="Labels for the issue.  [default: those the measurements support and the project has]",
    )
    assignee: tuple[str, ...] = _declare_option(
        (),
        setting_readers.read_comma_list,
        "--assignee",
        metavar="USER,…",
        everywhere=False,
        help="Who the issue is assigned to; @me is you.",
    )
    yes: bool = _declare_option(
        False,
        setting_readers.read_switch,
        "-y",
        "--yes",
        everywhere=False,
        help="File without asking; only together with a sentence of your own in --summary.",
    )
    dry_run: bool = _declare_option(
        False,
        setting_readers.read_switch,
        "--dry-run",
        everywhere=False,
        help="Show exactly what would be sent, and send nothing.",
    )
    web: bool = _declare_option(
        False,
        setting_readers.read_switch,
        "--web",
        everywhere=False,
        help="Open the project's form in the browser and print the sections to paste.",
    )


@dataclass(frozen=True)
class Options(TalkOptions, FilingOptions, WorkOptions, FolderOptions):
    """What one run was asked to do.

    Commands, and what begins a run for them, are given all of it; a stage asks for the class of the
    part that it reads.
    """

    rungs: tuple[str, ...] = _declare_option(
        (),
        setting_readers.read_comma_list,
        "--rungs",
        metavar="NAME,…",
        everywhere=False,
        help="Measure these rungs of the ladder as well, such as fallback_random or dynamic=False.",
    )


def list_settings() -> dict[str, Setting]:
    """All options by field name, in the order of their declaration."""
    fields = dataclasses.fields(Options)
    return {f.name: f.metadata["setting"] for f in fields if "setting" in f.metadata}
