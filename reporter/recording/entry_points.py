"""What the words after the options start: a script, a module, a notebook, a function, or a text on
the standard input.

Everything that an entry point needs is found out here, before anything runs: what the target
executes (`EntryPoint`), which texts are private though no file on the disk holds them, and every
mistake that can be named in advance.
"""

from __future__ import annotations

import functools
import os
import re
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

from collectors.protocol.starting import NotebookSurvey, ProgramStart
from reporter.core.errors import CannotJudgeError, UsageError
from reporter.core.kinds import assert_never
from reporter.core.settings import ProgramOptions
from reporter.execution import interpreter, launch
from reporter.recording.findings import Recording
from reporter.recording.script_check import check_file, check_script, check_text

_FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
_TEST_ID = re.compile(r"(.+\.py)::\S+")
_LAUNCHERS = ("torch.distributed.run", "torch.distributed.launch")
#: Commands that people start programs with, by the module that each of them is.
_COMMANDS = {"torchrun": "torch.distributed.run", "pytest": "pytest", "py.test": "pytest"}

_SURVEY = """
import importlib.util
spec = importlib.util.spec_from_file_location("_bugreport_notebook", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
answer(**module.survey(sys.argv[2]))
"""

_LAUNCH = """
import contextlib, importlib, io
said = io.StringIO()
module = importlib.import_module(sys.argv[1])
try:
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        args = module.parse_args(sys.argv[2:])
        from torch.distributed.run import config_from_args
        config = config_from_args(args)[0]
except SystemExit:
    lines = said.getvalue().strip().splitlines() or ["it shows its help"]
    answer(problem=lines[-1].split(": error: ")[-1])
except Exception as error:
    answer(problem="%s: %s" % (type(error).__name__, error))
else:
    answer(
        problem=None, processes=config.nproc_per_node, nodes=config.max_nodes,
        target=args.training_script, arguments=list(args.training_script_args),
        module=bool(args.module), python=not args.no_python,
        local_rank=not getattr(args, "use_env", True), restarts=config.max_restarts,
        run=str(config.run_id),
    )
"""


#: How the target starts a program: the names of `collectors.record.starting`, and `attached` for
#: one that was started by somebody else.
EntryPointKind = Literal["script", "module", "notebook", "function", "text", "attached"]


@dataclass(frozen=True)
class EntryPoint:
    """How the target starts a program.

    `command` is its target and the arguments, as `sys.argv` will be. `texts` are private texts by
    name that are no files; `notes` are for the user. `ranks`: torchrun's variables are wanted.
    """

    kind: EntryPointKind
    command: tuple[str, ...]
    cwd: Path
    script: Path | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    notes: tuple[str, ...] = ()
    ranks: Mapping[str, str] = field(default_factory=dict)

    def build_variables(self) -> dict[str, str]:
        """What torchrun tells the one process that it starts; the port is another one for each
        run.
        """
        if not self.ranks:
            return {}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        return {**self.ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def _classify_entry_point(options: ProgramOptions) -> EntryPointKind:
    """The entry point by the looks of the words alone."""
    if options.attach is not None:
        return "attached"
    if options.module is not None or options.script is None:
        return "module" if options.module is not None else "script"
    word = str(options.script)
    if word == "-":
        return "text"
    if (options.cwd / word).exists():
        return "notebook" if word.endswith(".ipynb") else "script"
    if word in _COMMANDS:
        return "module"
    if word.endswith(".ipynb"):
        return "notebook"
    return "function" if _FUNCTION.fullmatch(word) else "script"


def check_early(options: ProgramOptions) -> None:
    """Refuses in no time what is wrong whatever the interpreter.

    Raises:
        UsageError: something is.
    """
    kind = _classify_entry_point(options)
    if kind == "script":
        _refuse_test_id(options)
    if kind in ("script", "notebook") and options.script is not None:
        check_file(options.script, options.cwd)
    elif kind == "script":
        check_script(options)


@functools.lru_cache(maxsize=4)
def resolve_entry_point(options: ProgramOptions, python: Path) -> EntryPoint:
    """The checked entry point; asked once for each run: the standard input can be read only once.

    Raises:
        UsageError: it is none, or cannot be run as one.
    """
    kind = _classify_entry_point(options)
    match kind:
        case "module":
            return _resolve_module(options, python)
        case "notebook":
            return _resolve_notebook(options, python)
        case "function":
            return _resolve_function(options, python)
        case "text":
            return _resolve_text(options, python)
        case "attached":
            return EntryPoint(kind, (), options.cwd)
        case "script":
            check_early(options)
            check_script(options, python)
            command = (str(options.script), *options.args)
            return EntryPoint(
                kind, command, options.cwd, options.script and options.cwd / options.script
            )
    assert_never(kind)


def _refuse_test_id(options: ProgramOptions) -> None:
    match = _TEST_ID.fullmatch(str(options.script))
    if match and not (options.cwd / str(options.script)).exists():
        raise UsageError(
            f"{options.script} is a test, not a script; start it as `-m pytest {options.script}`"
        )


def _resolve_module(options: ProgramOptions, python: Path) -> EntryPoint:
    module = options.module or _COMMANDS[str(options.script)]
    if module in _LAUNCHERS:
        return _resolve_launch(options, python, module)
    if module == "pytest" and not interpreter.has_module("pytest", python, options.cwd):
        raise UsageError(
            f"{python} has no pytest; install it there, or choose another interpreter with --python"
            " PATH"
        )
    check_script(replace(options, script=None, module=module), python)
    return EntryPoint("module", (module, *options.args), options.cwd)


def _resolve_launch(options: ProgramOptions, python: Path, module: str) -> EntryPoint:
    """What torchrun would start, with what it would tell it, in the watched process itself; several
    processes are started by torchrun.
    """
    facts = interpreter.ask(python, _LAUNCH, [module, *options.args], cwd=options.cwd)
    if facts["problem"]:
        raise UsageError(f"{module} refuses its arguments ({facts['problem']}); correct them")
    if facts["nodes"] != 1:
        raise UsageError(
            f"the processes of one node can be watched, and {module} is asked for"
            f" {facts['nodes']} nodes; give --nnodes 1"
        )
    if not facts["python"]:
        raise UsageError("with --no-python another program is started, which cannot be watched")
    arguments = tuple(facts["arguments"])
    if facts["local_rank"]:
        arguments = ("--local-rank=0", *arguments)
    name = str(facts["target"])
    inner = replace(
        options,
        args=arguments,
        script=None if facts["module"] else Path(name),
        module=name if facts["module"] else None,
    )
    if inner.module in _LAUNCHERS:
        raise UsageError(f"{module} starts {inner.module} again; name the training script itself")
    if facts["processes"] != 1:
        command = (module, *options.args)
        return replace(resolve_entry_point(inner, python), kind="module", command=command)
    ranks = dict.fromkeys(("RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK"), "0")
    ranks |= dict.fromkeys(
        ("WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"), "1"
    )
    elastic = {
        "ROLE_NAME": "default",
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": str(facts["restarts"]),
        "TORCHELASTIC_RUN_ID": facts["run"],
        "TORCHELASTIC_USE_AGENT_STORE": "False",
    }
    return replace(resolve_entry_point(inner, python), ranks={**ranks, **elastic})


def _resolve_notebook(options: ProgramOptions, python: Path) -> EntryPoint:
    """Runs where Jupyter would run it: in the notebook's own folder."""
    assert options.script is not None
    check_file(options.script, options.cwd)
    path = Path(os.path.abspath(options.cwd / options.script))
    survey = str(launch.COLLECTORS / "record" / "notebook.py")
    found = cast(NotebookSurvey, interpreter.ask(python, _SURVEY, [survey, str(path)]))
    problem = found["problem"]
    if problem is not None:
        comma = "," if problem.startswith("cell ") else ""
        raise UsageError(f"{options.script}{comma} {problem}; {_name_way_out(problem)}")
    notes = tuple(
        f"left out, since it would change the environment: {line}" for line in found["left_out"]
    )
    return EntryPoint(
        "notebook", (str(path), *options.args), path.parent, texts=found["texts"], notes=notes
    )


def _name_way_out(problem: str) -> str:
    if "needs IPython" in problem:
        return "install it there, or take the line out"
    if "valid Python" in problem:
        return "correct it, or choose another --python"
    return "give a notebook with Python cells, or a script"


def _resolve_function(options: ProgramOptions, python: Path) -> EntryPoint:
    name = str(options.script)
    module = name.partition(":")[0]
    if not interpreter.has_module(module.partition(".")[0], python, options.cwd):
        raise UsageError(
            f"{python} finds no module {module} from {options.cwd}; correct {name}, or start from"
            " the folder that holds it"
        )
    if options.args:
        raise UsageError(
            f"{name} is called without arguments, so {options.args[0]!r} has nowhere to go; leave"
            " it out"
        )
    return EntryPoint("function", (name,), options.cwd)


def _resolve_text(options: ProgramOptions, python: Path) -> EntryPoint:
    text = sys.stdin.buffer.read().decode(errors="replace") if sys.stdin is not None else ""
    if not text.strip():
        raise UsageError(
            "the standard input holds no script; give one, as in `bugreport diagnose - < train.py`"
        )
    check_text(text, python)
    return EntryPoint("text", ("-", *options.args), options.cwd, texts={"stdin": text}, text=text)


def refuse_run(entry: EntryPoint, recording: Recording) -> None:
    """Says so where the run could not be what was meant: nothing to call, no test, tests in other
    processes; or where the program has ended its own watcher.

    Raises:
        UsageError: there was nothing to call or no test, or other processes ran the tests.
        CannotJudgeError: the program has ended its own watcher.
    """
    script = recording.script
    if script.unusable:
        raise UsageError(script.unusable)
    if script.parent_ended_by and not recording.findings:
        raise CannotJudgeError(
            "while the script ran, the process that had started it was ended"
            f" ({script.parent_ended_by}), so nobody saw how the script ends; leave out what kills"
            " its parent process"
        )
    if entry.kind != "module" or entry.command[0] != "pytest" or recording.findings:
        return
    if script.other_processes and not recording.counts.calls:
        raise UsageError(
            "pytest-xdist ran the tests in other processes, which cannot be watched; add `-n 0` to"
            " pytest's arguments"
        )
    problems = {
        2: "could not collect the tests",
        3: "failed",
        4: "found no such test",
        5: "ran no test",
    }
    if script.exit in problems:
        raise UsageError(
            f"pytest {problems[script.exit]}{_find_first_error(script.output)}; see what `pytest"
            f" {' '.join(entry.command[1:])}` says"
        )


def _find_first_error(output: str) -> str:
    lines = [line.strip() for line in output.splitlines()]
    said = [line for line in lines if re.match(r"ERROR:? (?!collecting)|E  +\w+Error\b", line)]
    return f" ({re.sub('^(ERROR:?|E) +', '', said[0])[:200]})" if said else ""


def read_own_texts(entry: EntryPoint) -> tuple[str, ...]:
    """The texts of the program itself, without what it imports."""
    if entry.script is not None:
        try:
            return (entry.script.read_text(encoding="utf-8", errors="replace"),)
        except OSError:
            return ()
    return tuple(entry.texts.values())


def build_program_start(entry: EntryPoint) -> ProgramStart:
    """The part of the target's spec that an entry point decides."""
    assert entry.kind != "attached"  # that one has started by itself
    if entry.text is None:
        return {"kind": entry.kind}
    return {"kind": entry.kind, "text": entry.text}
