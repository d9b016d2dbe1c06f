"""The command line as scripts and CI jobs rely on it: exit codes, streams, one sentence per
error.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

from reporter.cli.main import COMMANDS, run
from reporter.core import errors
from reporter.core.settings import Options

SUMMARY = "nothing is wrong"


@dataclass
class FakeWork:
    """Stands for `reporter.pipeline.create`: remembers the options, and answers or raises what the
    test wants.
    """

    seen: list[Options] = field(default_factory=list)
    error: BaseException | None = None
    exit_code: int = 0

    def create(self, options: Options) -> FakeWork:
        self.seen.append(options)
        if self.error is not None:
            raise self.error
        return self

    def to_json(self) -> dict[str, object]:
        return {"schema_version": 1, "verdict": {"summary": SUMMARY}}

    def summarize(self) -> list[str]:
        return [SUMMARY]


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> FakeWork:
    fake = FakeWork()
    module = ModuleType("reporter.pipeline.create")
    module.__dict__.update(create=fake.create, diagnose=fake.create)
    monkeypatch.setattr(
        "reporter.check.report_releases.try_releases", lambda result, *_, **__: result
    )
    monkeypatch.setitem(sys.modules, "reporter.pipeline.create", module)
    return fake


Script = tuple[Path | None, str | None, tuple[str, ...]]
SPLITS: list[tuple[str, Script]] = [
    ("train.py", (Path("train.py"), None, ())),
    ("train.py --lr 3 --help", (Path("train.py"), None, ("--lr", "3", "--help"))),
    (
        "train.py --json -m x -- -o y",
        (Path("train.py"), None, ("--json", "-m", "x", "--", "-o", "y")),
    ),
    ("-- train.py --version", (Path("train.py"), None, ("--version",))),
    ("-m pkg.train --lr 3 --help", (None, "pkg.train", ("--lr", "3", "--help"))),
    ("-m pkg.train a -- b", (None, "pkg.train", ("a", "--", "b"))),
    ("--module=pkg.train --json", (None, "pkg.train", ("--json",))),
    ("--module pkg.train -v", (None, "pkg.train", ("-v",))),
    ("-mpkg -v", (None, "pkg", ("-v",))),
    ("-mm -v", (None, "m", ("-v",))),
    ("-vm pkg -v", (None, "pkg", ("-v",))),
    ("--seed 1 -j2 -v train.py -m x", (Path("train.py"), None, ("-m", "x"))),
    ("--memory 2 -j1 train.py --memory 3", (Path("train.py"), None, ("--memory", "3"))),
    ("-j 2 -m pkg -j 3", (None, "pkg", ("-j", "3"))),
    ("", (None, None, ())),
]


@pytest.mark.parametrize(("line", "expected"), SPLITS)
@pytest.mark.parametrize("verb", ["create", "diagnose"])
def test_what_follows_the_script_belongs_to_the_script(
    verb: str, line: str, expected: Script, work: FakeWork
) -> None:
    assert run([verb, *line.split()]) == 0
    options = work.seen[0]
    assert (options.script, options.module, options.args) == expected
    assert options.json is False and options.cwd == Path.cwd()


def test_every_option_of_create_arrives(work: FakeWork, tmp_path: Path) -> None:
    line = "--python /x/python -o out --json -j 3 --timeout 9.5 --seed 7 --no-input --keep-source"
    line += " -R pytorch/pytorch --summary T --force -v --memory 2.5 --workers spawn"
    line += " --differs-from /y/python --differs-from=/z --evidence 5 train.py"
    assert run(["create", *line.split()]) == 0
    assert work.seen[0] == Options(
        script=Path("train.py"),
        python=Path("/x/python"),
        output=Path.cwd() / "out",
        json=True,
        jobs=3,
        timeout=9.5,
        seed=7,
        evidence=5.0,
        no_input=True,
        keep_source=True,
        repo="pytorch/pytorch",
        summary="T",
        force=True,
        verbose=True,
        memory=2.5,
        workers="spawn",
        differs_from=(Path("/y/python"), Path("/z")),
    )


def test_the_releases_of_the_change_are_looked_for_where_that_was_asked_for(
    work: FakeWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def note(result: FakeWork, **_: object) -> FakeWork:
        asked.append(result)
        return result

    monkeypatch.setattr("reporter.bisect.releases_of_change.name_releases_of_change", note)
    run(["create", "train.py"])
    assert asked == []
    run(["create", "--bisect", "train.py"])
    assert asked == [work]


def test_a_switch_of_the_environment_can_be_switched_off(
    work: FakeWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUGREPORT_NO_INPUT", "1")
    monkeypatch.setenv("BUGREPORT_KEEP_SOURCE", "1")
    run(["create", "--input", "--no-keep-source", "train.py"])
    run(["create", "train.py"])
    assert [(o.no_input, o.keep_source) for o in work.seen] == [(False, False), (True, True)]


@pytest.mark.parametrize("code", [0, 1])
def test_the_outcome_is_the_exit_code_and_goes_to_stdout(
    code: int, work: FakeWork, capsys: pytest.CaptureFixture[str]
) -> None:
    work.exit_code = code
    assert run(["create", "train.py"]) == code
    assert capsys.readouterr() == (SUMMARY + "\n", "")


def test_json_is_one_document_and_the_talk_goes_to_stderr(
    work: FakeWork, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["create", "--json", "train.py"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["verdict"]["summary"] == SUMMARY
    assert captured.err == SUMMARY + "\n"


ERRORS: list[tuple[BaseException, int]] = [
    (errors.UsageError("there is no file x"), 2),
    (errors.AuthenticationError("the token is refused"), 4),
    (errors.LeakError("a name is left"), 5),
    (errors.CannotJudgeError("no such device"), 125),
    (errors.Interruption("go on with --resume out"), 130),
    (KeyboardInterrupt(), 130),
]


@pytest.mark.parametrize(("error", "code"), ERRORS)
def test_an_error_is_one_sentence_and_its_exit_code(
    error: BaseException, code: int, work: FakeWork, capsys: pytest.CaptureFixture[str]
) -> None:
    work.error = error
    assert run(["create", "train.py"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"bugreport: {str(error) or 'interrupted'}\n"


def test_an_error_under_json_is_still_one_document(
    work: FakeWork, capsys: pytest.CaptureFixture[str]
) -> None:
    work.error = errors.UsageError("there is no\nfile x")
    assert run(["create", "--json", "train.py"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["error"] == {"exit_code": 2, "message": "there is no file x"}


def test_an_unexpected_exception_leaves_a_log_and_no_traceback(
    work: FakeWork, capsys: pytest.CaptureFixture[str]
) -> None:
    work.error = ValueError("secret detail")
    assert run(["create", "train.py"]) == 70
    text = capsys.readouterr().err
    assert text.startswith("bugreport: internal error (ValueError); the details are in ")
    assert "Traceback" not in text and "secret" not in text and text.count("\n") == 1
    log = Path(text.rsplit(" ", 1)[1].strip())
    assert "secret detail" in log.read_text() and "Traceback" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


REFUSED: list[tuple[str, str]] = [
    ("frobnicate", "no such command 'frobnicate'"),
    ("--bogus", "no such option '--bogus'"),
    ("creat train.py", "did you mean 'create'"),
    ("create --bogus train.py", "no such option"),
    ("create -m", "requires an argument; see `bugreport create --help`"),
    ("create --jobs", "requires an argument"),
    ("create --jobs none train.py", "--jobs is 'none', but must be a whole number"),
    ("env extra", "unexpected extra argument"),
]


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_a_command_line_that_cannot_be_used(
    line: str, message: str, work: FakeWork, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(line.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and work.seen == []
    assert captured.err.startswith("bugreport: ") and captured.err.count("\n") == 1
    assert message in captured.err


@pytest.mark.parametrize(
    "line", ["env --json --bogus", "triage x.md --json --bogus", "check --torch 2.6 --json --bogus"]
)
def test_a_refused_command_line_under_json(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 2
    assert json.loads(capsys.readouterr().out)["error"]["exit_code"] == 2


@pytest.mark.parametrize("line", ["create --bogus x.py --json", "triage --bogus -- --json"])
def test_json_of_the_script_is_none_of_ours(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("line", ["", "--help", "-h"])
def test_help_lists_the_verbs_that_work(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 0
    text = capsys.readouterr().out
    assert all(f"\n  {verb} " in text for verb in COMMANDS)


@pytest.mark.parametrize("verb", COMMANDS)
def test_each_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"Usage: bugreport {verb}" in text and "--json" in text
    drives_no_interpreter = {
        "deanonymize",
        "file",
        "hook",
        "lint",
        "list",
        "releases",
        "show",
        "sync",
    }
    assert ("--python PATH" in text) == (verb not in drives_no_interpreter)


def test_env_needs_an_interpreter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["env", "--python", str(tmp_path / "gone")]) == 2
    assert "there is no interpreter" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--timeout", "-v"])
def test_an_option_after_the_script_is_pointed_out(
    flag: str, work: FakeWork, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", "train.py", flag, "60"]) == 0
    assert f"{flag} stands after the script" in capsys.readouterr().err
    assert run(["diagnose", "train.py", "--epochs", "60"]) == 0
    assert "stands after" not in capsys.readouterr().err
    assert [options.args for options in work.seen] == [(flag, "60"), ("--epochs", "60")]


@pytest.mark.parametrize("verb", [verb for verb in COMMANDS if verb != "hook"])
def test_what_the_environment_switches_on_every_command_can_switch_off(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([verb, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--json" not in shown or "--no-json" in shown
