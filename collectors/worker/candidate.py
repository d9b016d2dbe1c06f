"""Runs one candidate, the complete text of a repro.py, in this process and writes down how it
ended.

The process is disposable: a fork of the warm worker, or a fresh interpreter. The text is a real
file in an otherwise empty folder, run as `__main__`, so that `inspect`, tracebacks and the
compiler see what a user's `python repro.py` shows them. The answer is a file too: whatever the
candidate does to its process, either the file is complete or the exit status alone says what
happened.
"""

from __future__ import annotations

import ast
import contextlib
import faulthandler
import importlib
import importlib.machinery
import json
import linecache
import os
import resource
import sys
import traceback
import types
from typing import Any, Callable, Optional

from ..call import bisection, failure
from ..debugtools.tool import ToolSession
from ..dynamo import counters
from ..machine.compile_options import is_own_call_of_torch, replace_backend
from ..machine.files import write_json
from ..machine.torch_settings import NoSuchSettingError, set_settings
from ..protocol.candidates import (
    ANSWER_FILE,
    EXPORTS_AS_MODULES,
    MEASUREMENTS_FILE,
    CandidateEnding,
    CandidateRequest,
)
from ..protocol.failure import Failure
from ..protocol.repro_words import (
    CANNOT_JUDGE_HERE,
    DISABLING_VARIABLE,
    VALUES_PREFIXES,
    CandidateOutcome,
)
from ..protocol.variation import CompileArguments, Overrides, select_compile_arguments
from . import early_end

_COLLECTORS = str(__package__).rpartition(".")[0]
#: What a text raises in its own lines when a reduction has cut it wrongly.
_BROKEN = (SyntaxError, NameError, ImportError)
#: Settings that may change the compiler's flags, and the one that precompiles torch's headers: with
#: other flags than the warm-up's that takes five times as long as the one kernel.
_OF_CPP = "torch._inductor.config.cpp."
_HEADERS = "torch._inductor.config.cpp_cache_precompile_headers"


def enter_cache(folder: str, with_headers: bool = True) -> None:
    """Make `folder` the compiler cache of this process, whatever was cached before the fork.

    Without `with_headers` torch's precompiled headers stay where they are.
    """
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    codecache: Any = sys.modules.get("torch._inductor.codecache")
    if codecache is None:
        return
    forget = getattr(getattr(codecache, "cache_dir", None), "cache_clear", None)
    if forget is not None:
        forget()
    # a header half written by a killed candidate must not stay
    if with_headers and hasattr(codecache, "_HEADER_DIR"):
        codecache._HEADER_DIR = os.path.join(folder, "precompiled_headers")
        codecache._HEADER_LOCK_DIR = os.path.join(folder, "precompiled_headers", "locks")


def isolate(folder: str, memory: int | None) -> None:
    """Give this process a session, quiet standard streams, an empty folder and limits of its own.

    `folder` gets `run` (the working folder) and `out` (`stdout`, `stderr`, the answer);
    `memory` is how many bytes of private memory the candidate may take beyond what this process
    already has.
    """
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.chdir(os.path.join(folder, "run"))
    out = os.path.join(folder, "out")
    os.environ["TMPDIR"] = out  # a killed C++ compiler leaves its temporary files
    sys.stdout.flush()
    sys.stderr.flush()
    for number, name, flags in (
        (0, os.devnull, os.O_RDONLY),
        (1, os.path.join(out, "stdout"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND),
        (2, os.path.join(out, "stderr"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND),
    ):
        opened = os.open(name, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if memory:
        _limit_memory(memory)


def _limit_memory(extra: int) -> None:
    """Limit private writable memory; the address space would count what torch only reserves."""
    try:
        with open("/proc/self/status") as status:
            used = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = used + extra if hard == resource.RLIM_INFINITY else min(used + extra, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    except (OSError, ValueError, StopIteration):
        pass  # a system without such limits still has the time limit


def run(request: CandidateRequest, folder: str) -> int:
    """Run `request["text"]` as `__main__`, write `out/answer.json`, return the exit status.

    Raises nothing: every ending of the text is an outcome.
    """
    out, own = os.path.join(folder, "out"), os.getpid()
    path = os.path.join(os.getcwd(), "repro.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(request["text"])
    watch = open(os.path.join(out, "stack"), "w")
    faulthandler.enable(watch)
    limit = float(request["timeout"])
    faulthandler.dump_traceback_later(max(limit - 1.0, limit * 0.7), file=watch)
    answer: CandidateEnding
    counter: Any = None
    tools: Optional[ToolSession] = None
    before = counters.count_compilations()
    try:
        if request.get("tools"):
            tools = importlib.import_module(_COLLECTORS + ".debugtools.run").build_session(
                {"folder": os.path.join(out, "found"), "tools": request["tools"]}
            )
            tools.start()
        overrides = request.get("overrides") or {}
        counter = _apply(overrides)
        if request.get("measure"):
            importlib.import_module(_COLLECTORS + ".dynamo.repro_measurements").run(
                request, path, os.path.join(out, MEASUREMENTS_FILE)
            )
        else:
            with _fill_memory() if overrides.get("fill") else contextlib.nullcontext():
                _execute(request["text"], path)
        answer = {"outcome": CandidateOutcome.PASSES, "failure": None, "exit": 0}
    except BaseException as error:  # a candidate may raise anything
        answer = _describe_ending(error, path)
    if os.getpid() != own:
        # the text has forked: this end is not the candidate's, and an interpreter that shuts down
        # waits for the thread of faulthandler, which no fork has
        _flush()
        os._exit(answer["exit"])
    faulthandler.cancel_dump_traceback_later()
    answer["compilations"] = counters.count_compilations() - before
    if counter is not None:
        answer["bisect"] = counter.build_answer()
    if tools is not None:
        answer["found"] = tools.stop()
    if answer["outcome"] == CandidateOutcome.FAILS and _is_about_values(answer.get("failure")):
        answer["undefined"] = _find_undefined(request["text"])
    _flush()
    write_json(os.path.join(out, ANSWER_FILE), answer)
    return answer["exit"]


def _describe_ending(error: BaseException, path: str) -> CandidateEnding:
    """What it means that `error` ended the text at `path`; the traceback of a failure is written to
    the standard error, as Python does.
    """
    if isinstance(error, early_end.CompilerReachedError):
        return {"outcome": CandidateOutcome.PASSES, "failure": None, "exit": 0}
    if isinstance(error, SystemExit):
        return _stop(error)
    if isinstance(error, NoSuchSettingError):
        return {
            "outcome": CandidateOutcome.CANNOT_JUDGE,
            "failure": None,
            "exit": CANNOT_JUDGE_HERE,
            "detail": str(error),
        }
    broken = isinstance(error, _BROKEN) and _is_text_at_fault(error, path)
    account = describe(error)
    sys.stderr.write(account.get("traceback", ""))
    return {
        "outcome": CandidateOutcome.BROKEN if broken else CandidateOutcome.FAILS,
        "failure": account,
        "exit": 1,
    }


def _execute(text: str, path: str) -> None:
    """What `python repro.py` does, in this process."""
    module = types.ModuleType("__main__")
    module.__file__ = path
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    sys.argv = ["repro.py"]
    sys.path.insert(0, os.path.dirname(path))
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    exec(compile(text, path, "exec", dont_inherit=True), module.__dict__)


def _fill_memory() -> Any:
    return importlib.import_module(_COLLECTORS + ".call.probe").FillMemoryMode()


def _is_about_values(account: Failure | None) -> bool:
    """Whether a repro's own assertion says that values are wrong."""
    said = account["message"] if account is not None else ""
    return said.startswith(VALUES_PREFIXES)


def _find_undefined(text: str) -> list[str]:
    """What the program meets in eager mode that torch leaves undefined, or to chance; nothing where
    that cannot be found out.
    """
    program = getattr(sys.modules["__main__"], "run", None)
    if program is None:
        return []
    try:
        probe = importlib.import_module(_COLLECTORS + ".call.probe")
        calls = _list_calls(text)
        found: list[str] = probe.find_undefined(lambda compile: program(compile, *calls))
    except BaseException:  # what cannot be looked at is not told
        return []
    return found


def _list_calls(text: str) -> list[Any]:
    """What the text gives its `run` beside a way to compile: the sizes of several calls."""
    made = [
        node.args[1:]
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "run"
    ]
    return [ast.literal_eval(each) for each in made[0]] if made else []


def _stop(stop: SystemExit) -> CandidateEnding:
    if isinstance(stop.code, str) or not isinstance(stop.code, (int, type(None))):
        sys.stderr.write(f"{stop.code}\n")
    code = stop.code if isinstance(stop.code, int) else (0 if stop.code is None else 1)
    code &= 0xFF
    if code in (0, CANNOT_JUDGE_HERE):
        outcome = CandidateOutcome.PASSES if code == 0 else CandidateOutcome.CANNOT_JUDGE
        return {"outcome": outcome, "failure": None, "exit": code}
    return {"outcome": CandidateOutcome.FAILS, "failure": describe(stop), "exit": code}


def _is_text_at_fault(error: BaseException, path: str) -> bool:
    """Whether the text itself is at fault: no frame below its own, or it does not even compile."""
    trace = error.__traceback__
    names: list[str] = []
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    if isinstance(error, SyntaxError):
        return path not in names
    if isinstance(error, ImportError):  # the import system's own frames lie below the text's
        names = [name for name in names if "importlib" not in name]
    return bool(names) and names[-1] == path


def describe(error: BaseException) -> Failure:
    """`failure.describe`, or the same form with less in it where that cannot work."""
    try:
        account = failure.describe(error)
        json.dumps(account)
        return account
    except BaseException:  # out of memory, deep recursion, a torch that cannot be imported
        pass
    try:
        message = str(error)[:4000]
    except BaseException:  # its own __str__
        message = "<message unavailable>"
    return {
        "exception": type(error).__name__,
        "chain": [type(error).__name__],
        "message": message,
        "first_line": message.strip().split("\n")[0],
        "frames": [],
        "traceback": "".join(traceback.format_exception_only(type(error), error))[:4000],
    }


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            pass


def _apply(overrides: Overrides) -> Any:
    """Make `torch.compile` and the torch configs behave as `overrides` say, in this process
    only.

    A backend other than inductor drops mode and options. Returns the counter of `bisection.apply`,
    if there is one.

    Raises:
        NoSuchSettingError: this torch has no such setting, or we have no such override.
    """
    try:
        arguments = select_compile_arguments(overrides)
    except ValueError as error:
        raise NoSuchSettingError(str(error)) from error
    if overrides.get("control"):
        os.environ[DISABLING_VARIABLE] = "1"  # read whenever something is to be compiled
        if hasattr(importlib.import_module("torch"), "export"):
            exec(EXPORTS_AS_MODULES, {"__name__": "exports_as_modules"})
    if overrides.get("end") == "compiler":
        early_end.end_at_compiler()
    configs = dict(overrides.get("config") or {})
    if any(name.startswith(_OF_CPP) for name in configs):
        with contextlib.suppress(NoSuchSettingError):
            set_settings({_HEADERS: False})
    set_settings(configs)
    if arguments:
        import torch

        torch.compile = override_compile(torch.compile, arguments)
    try:
        return bisection.apply(overrides)
    except bisection.CannotBisectError as error:
        raise NoSuchSettingError(str(error)) from error


def override_compile(
    original: Callable[..., Any], arguments: CompileArguments
) -> Callable[..., Any]:
    """`torch.compile` with `arguments` in place of what the text gives it, and nothing that
    contradicts them. What torch compiles by itself, also in eager mode, stays as it is.
    """

    def compile(model: Any = None, **given: Any) -> Any:
        if is_own_call_of_torch():
            return original(model, **given)
        if arguments.get("mode") is not None:  # torch takes either
            given.pop("options", None)
        given.update(arguments)
        if arguments.get("backend", "inductor") != "inductor":
            replace_backend(given, arguments["backend"])
        return original(model, **given)

    return compile
