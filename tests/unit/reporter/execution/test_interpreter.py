"""Interpreters that cannot be used are refused with one sentence and a way out.

No torch is needed: a stand-in package on PYTHONPATH plays every torch that a user may have.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from anonymizer.graph.repro import ReproAssertion
from reporter.core.kinds import Kind, Layer
from reporter.core.settings import Options
from reporter.execution import interpreter
from reporter.pipeline.run import refuse_other_seed, resolve_interpreters
from reporter.report.captured_call import (
    CapturedCall,
    CapturedVerdict,
    ProgramMaterial,
    Surroundings,
)
from tests.support.refusals import refusal

PYTHON = Path(sys.executable)

TORCHES: list[tuple[str, str]] = [
    ("raise ModuleNotFoundError('No module named torch', name='torch')", "has no torch; install"),
    (
        "raise ImportError('libcudart.so.12: cannot open\\nshared object')",
        "libcudart.so.12: cannot open)",
    ),
    ("import no_such_helper", "No module named 'no_such_helper'"),
    ("raise RuntimeError('broken\\ninstallation')", "(RuntimeError: broken)"),
    ("raise SystemExit(3)", "(SystemExit: 3)"),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
    ("import os; os._exit(0)", "does not behave like a Python interpreter"),
    (
        "__version__ = '1.13.1+cu117'",
        "has torch 1.13.1+cu117, but torch.compile needs at least 2.0",
    ),
    ("", "a torch without a version"),
]


@pytest.fixture
def torch_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes `import torch` run a text instead."""

    def install(text: str, version: str = "") -> None:
        folder = tmp_path / "packages" / "torch"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(text)
        if version:
            (folder / "version.py").write_text(version)
        monkeypatch.setenv("PYTHONPATH", str(folder.parent))

    return install


@pytest.mark.parametrize(("text", "message"), TORCHES)
def test_a_torch_that_cannot_be_used_is_refused_with_the_reason(
    text: str, message: str, torch_of: Callable[..., None]
) -> None:
    torch_of(text)
    assert message in refusal(lambda: interpreter.probe(PYTHON))


def test_a_torch_whose_import_never_ends_is_given_up(
    torch_of: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    torch_of("import time\nwhile True: time.sleep(60)")
    monkeypatch.setattr(interpreter, "_PROBE_SECONDS", 0.1)
    message = refusal(lambda: interpreter.probe(PYTHON))
    assert "gave no answer within 0.1 seconds" in message


def test_a_torch_that_can_be_used_is_described(torch_of: Callable[..., None]) -> None:
    torch_of("print('hello'); __version__ = '2.13.0+cpu'")
    info = interpreter.probe(PYTHON)
    assert (info.path, info.torch, info.torch_git) == (PYTHON, "2.13.0+cpu", None)
    assert info.version == ".".join(map(str, sys.version_info[:3]))
    assert info.has_cuda is False


VERSION = "__version__ = '2.13.0+cpu'\ngit_version = 'cf30153c4c13'\ncuda = {}\nhip = {}\n"


def test_what_its_files_say_of_a_torch_takes_no_import(torch_of: Callable[..., None]) -> None:
    torch_of("raise ImportError('that would take seconds')", VERSION.format(None, None))
    info = interpreter.probe_files(PYTHON)
    assert (info.torch, info.has_cuda) == ("2.13.0+cpu", False)
    assert info.version == ".".join(map(str, sys.version_info[:3]))


@pytest.mark.parametrize("version", ["", VERSION.format(None, "'6.4'"), "raise OSError"])
def test_a_torch_whose_files_do_not_say_all_is_imported(
    version: str, torch_of: Callable[..., None]
) -> None:
    torch_of("__version__ = '2.6.0'", version)
    assert interpreter.probe_files(PYTHON).torch == "2.6.0"


def test_an_old_torch_or_none_is_refused_by_its_files_too(torch_of: Callable[..., None]) -> None:
    torch_of("", VERSION.format(None, None).replace("2.13.0", "1.13.1"))
    assert "needs at least 2.0" in refusal(lambda: interpreter.probe_files(PYTHON))


def test_a_torch_in_the_working_directory_is_not_the_one(
    torch_of: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch_of("__version__ = '2.6.0'")
    (tmp_path / "torch.py").write_text("raise RuntimeError('a notebook of mine')")
    monkeypatch.chdir(tmp_path)
    assert interpreter.probe(PYTHON).torch == "2.6.0"


def test_a_program_that_is_no_interpreter_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("notes")
    assert "cannot be run" in refusal(lambda: interpreter.probe(text))
    assert "does not behave like" in refusal(lambda: interpreter.probe(Path("/bin/echo")))


def test_the_interpreter_is_the_named_one(tmp_path: Path) -> None:
    assert interpreter.find(Options(python=PYTHON)) == PYTHON
    gone = tmp_path / "gone"
    assert str(gone) in refusal(lambda: interpreter.find(Options(python=gone)))
    assert "without a Python" in refusal(lambda: interpreter.find(Options(python=tmp_path)))
    assert interpreter.find(Options(python=Path("sh"))).is_absolute()


def test_an_environment_can_be_named_by_its_folder(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(PYTHON)
    assert interpreter.find(Options(python=tmp_path)) == tmp_path / "bin" / "python"


def test_without_a_name_the_active_environment_then_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    assert interpreter.find(Options()) == PYTHON
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path))
    assert "CONDA_PREFIX" in refusal(lambda: interpreter.find(Options()))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(PYTHON)
    assert interpreter.find(Options()) == tmp_path / "bin" / "python"


@pytest.fixture
def environment(tmp_path: Path) -> Callable[[str], Path]:
    """Makes an environment around the base of this interpreter and returns its folder."""

    def make(name: str) -> Path:
        folder = tmp_path / name
        (folder / "bin").mkdir(parents=True)
        base = PYTHON.resolve()
        (folder / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
        for program in ("python", "python3"):
            (folder / "bin" / program).symlink_to(base)
        return folder

    return make


def test_the_others_are_other_environments_each_once(
    environment: Callable[[str], Path], torch_of: Callable[..., None]
) -> None:
    torch_of("__version__ = '2.6.0'")
    here = interpreter.probe(environment("here") / "bin" / "python")
    old = environment("old")
    named = (old, old / "bin" / "python3", environment("new") / "bin" / "python")
    found = interpreter.probe_others(Options(differs_from=named), here)
    assert [info.path for info in found] == [old / "bin" / "python", named[2]]
    assert interpreter.probe_others(Options(), here) == ()
    for same in (here.path, here.path.with_name("python3"), here.path.parents[1]):
        options = Options(differs_from=(old, same))
        message = refusal(lambda options=options: interpreter.probe_others(options, here))
        assert str(same) in message and "nothing can differ" in message


def test_the_others_need_a_torch_too(
    environment: Callable[[str], Path], torch_of: Callable[..., None], tmp_path: Path
) -> None:
    torch_of("__version__ = '1.13.1'")
    here = interpreter.InterpreterInfo(PYTHON, "3.11.7", "2.13.0", None, False, "/x")

    def message(path: Path) -> str:
        return refusal(lambda: interpreter.probe_others(Options(differs_from=(path,)), here))

    assert "needs at least 2.0; choose another with --differs-from" in message(environment("old"))
    assert "there is no interpreter" in message(tmp_path / "gone")
    assert "--differs-from" in message(tmp_path / "gone")
    (tmp_path / "packages" / "torch" / "__init__.py").write_text(
        "raise ModuleNotFoundError('No module named torch', name='torch')"
    )
    assert "has no torch; install it there or choose" in message(environment("bare"))


def test_a_resumed_run_keeps_the_interpreters_it_began_with(
    environment: Callable[[str], Path], torch_of: Callable[..., None]
) -> None:
    torch_of("__version__ = '2.6.0'")
    here, old, new = (environment(name) / "bin" / "python" for name in ("here", "old", "new"))
    begun = CapturedCall(
        CapturedVerdict(Kind.CRASH, Layer.INDUCTOR, "", True),
        ProgramMaterial(),
        Surroundings(str(here), differs_from=(str(old),)),
    )
    for given in ((), (old,), (old.parents[1],)):
        info, others = resolve_interpreters(Options(differs_from=given), begun)
        assert (info.path, [item.path for item in others]) == (here, [old])
    message = refusal(lambda: resolve_interpreters(Options(differs_from=(new,)), begun))
    assert str(old) in message and "start anew without --resume" in message


def test_a_resumed_run_keeps_the_seed_it_began_with() -> None:
    begun = CapturedCall(
        CapturedVerdict(Kind.CRASH, Layer.INDUCTOR, "", True),
        ProgramMaterial(assertion=ReproAssertion(Kind.CRASH, seed=7)),
        Surroundings(""),
    )
    for seed in (0, 7):  # 0 is what the option is when it is not given
        refuse_other_seed(Options(seed=seed), begun)
    refuse_other_seed(Options(seed=8), None)
    message = refusal(lambda: refuse_other_seed(Options(seed=8), begun))
    assert "interrupted run (7)" in message and "start anew without --resume" in message


def test_a_missing_compiler_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "CXX=no-such-compiler" in (interpreter.check_compiler() or "")
    (tmp_path / "g++").write_text("#!/bin/sh\n")
    (tmp_path / "g++").chmod(0o755)
    assert interpreter.check_compiler() is None
