"""One run from start to end: what it is started with, which limit ends it, and what is told of it.

The programs are harmless and most run without a sandbox; what a sandbox holds is tested in
`tests/e2e/sandbox`.
"""

from __future__ import annotations

import itertools
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from reporter.core.errors import CannotJudgeError
from reporter.sandbox import Limits, SandboxResult, bubblewrap, make_sandbox, watch
from reporter.sandbox import sandbox as module
from reporter.sandbox.view import View
from tests.support.waiting import PATIENCE, until

FOREVER = ("sleep", "3600")
NOTHING = watch.Usage(1, 0, ())


def runs(*command: str, **more: object) -> SandboxResult:
    with make_sandbox(command, trust=True, **more) as box:  # type: ignore[arg-type]
        return box.run()


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bubblewrap that the tests write."""
    path = tmp_path / "bwrap"
    monkeypatch.setattr(bubblewrap, "find_bwrap", lambda: str(path))
    return path


def says(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)


STARTED = "printf . >&0\n"
#: Runs the last words of its command line, as bubblewrap does where it works.
WORKS = 'while [ "$1" != sh ]; do shift; done; exec "$@"\n'


def test_an_end_is_told_with_its_exit_code_and_both_streams() -> None:
    result = runs("sh", "-c", "echo out; echo err >&2; exit 7")
    assert (result.ending, result.exit, result.signal) == ("exited", 7, None)
    assert (result.stdout, result.stderr, result.detail) == ("out\n", "err\n", "")
    assert result.contained is False


def test_a_signal_is_told_by_its_name() -> None:
    result = runs("sh", "-c", "kill -SEGV $$")
    assert (result.ending, result.signal, result.exit) == ("signal", "SIGSEGV", -11)


@pytest.mark.parametrize(
    ("code", "ending", "signal"),
    [
        (0, "exited", None),
        (128, "exited", None),
        (129, "signal", "SIGHUP"),
        (139, "signal", "SIGSEGV"),
        (128 + 20, "signal", "SIGTSTP"),
        (152, "cpu", None),
        (159, "signal", "SIGSYS"),
        (160, "exited", None),
        (255, "exited", None),
    ],
)
def test_an_exit_code_above_128_is_a_signal_as_a_shell_tells_it(
    code: int, ending: str, signal: str | None
) -> None:
    result = runs("sh", "-c", f"exit {code}")
    assert (result.ending, result.signal) == (ending, signal)
    assert result.exit == (None if ending == "cpu" else code)


def test_the_seconds_are_the_clocks() -> None:
    looks = []

    def clock() -> float:
        looks.append(10.0 + 0.12345 * len(looks))
        return looks[-1]

    with make_sandbox(["true"], trust=True) as box:
        box.clock = clock
        assert box.run().seconds == round(looks[-1] - looks[0], 3) > 0


def test_a_limit_has_passed_only_when_it_is_over() -> None:
    ticks = iter([100.0, 130.0, 130.1, 130.2])
    with make_sandbox(FOREVER, trust=True, limits=Limits(seconds=30)) as box:
        box.clock = lambda: next(ticks)
        result = box.run()
    assert (result.ending, result.exit, result.seconds) == ("timeout", None, 30.2)
    assert result.detail == "did not end within 30 seconds"


@pytest.mark.parametrize(
    ("usage", "proportional", "is_full", "ending"),
    [
        (watch.Usage(9, 0, ()), 0, False, "tasks"),
        (watch.Usage(8, 1001, (5, 6)), 1001, False, "memory"),
        (watch.Usage(8, 0, ()), 0, True, "memory"),
    ],
)
def test_the_watch_ends_what_takes_too_much(
    usage: watch.Usage,
    proportional: int,
    is_full: bool,
    ending: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "measure_usage", lambda pid: usage)
    monkeypatch.setattr(
        watch, "measure_proportional_memory", lambda pids: proportional if pids == (5, 6) else 0
    )
    monkeypatch.setattr(watch, "is_machine_full", lambda: is_full)
    with make_sandbox(FOREVER, trust=True, limits=Limits(memory=1000, tasks=8)) as box:
        box.limits = Limits(memory=1000, tasks=8)
        monkeypatch.setattr(Limits, "list_prlimit_options", lambda self: ["--core=0"])
        result = box.run()
    words = {
        "tasks": "started more processes and threads than the sandbox allows (8)",
        "memory": "took more memory than the sandbox has (1000 bytes)",
    }
    assert (result.ending, result.exit, result.detail) == (ending, None, words[ending])


def test_what_is_within_its_limits_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = itertools.count()
    full = watch.Usage(8, 1001, (7,))

    def usage(pid: int) -> watch.Usage:
        next(looks)
        return full

    monkeypatch.setattr(watch, "measure_usage", usage)
    monkeypatch.setattr(watch, "measure_proportional_memory", lambda pids: 1000)
    monkeypatch.setattr(watch, "is_machine_full", lambda: False)
    monkeypatch.setattr(watch, "is_disk_full", lambda pid, folder: False)
    monkeypatch.setattr(Limits, "list_prlimit_options", lambda self: ["--core=0"])
    read, write = os.pipe()
    box = make_sandbox(
        ["sh", "-c", f"read line < /proc/{os.getpid()}/fd/{read}; echo $line"],
        trust=True,
        limits=Limits(memory=1000, tasks=8, flood=4),
    )

    def clock() -> float:
        if next(looks) > 6:
            os.write(write, b"end\n")
        return 0.0

    with box:
        box.clock = clock
        result = box.run()
    os.close(read)
    os.close(write)
    assert (result.ending, result.stdout) == ("exited", "end\n")


def test_the_disk_is_that_of_the_innermost_process(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def disk_is_full(pid: int, folder: str) -> bool:
        asked.append((pid, folder))
        return True

    monkeypatch.setattr(watch, "measure_usage", lambda pid: watch.Usage(1, 0, (3, 4, 5)))
    monkeypatch.setattr(watch, "is_disk_full", disk_is_full)
    result = runs(*FOREVER, limits=Limits(disk=77))
    assert (result.ending, result.detail) == ("disk", "filled the sandbox's disk (77 bytes)")
    assert asked == [(5, "/tmp")]


def test_who_prints_without_end_is_ended() -> None:
    result = runs("yes", limits=Limits(flood=1000, output=100))
    assert (result.ending, result.exit) == ("flood", None)
    assert result.detail == "printed more than the sandbox allows (1000 bytes)"
    assert len(result.stdout) < 200


def test_cpu_time_is_told_in_words() -> None:
    assert runs("sh", "-c", "exit 152", limits=Limits(cpu=2.5)).detail == (
        "used more CPU time than the sandbox allows (2.5 seconds)"
    )


@pytest.mark.parametrize(
    ("output", "length", "kept"),
    [
        (10, 10, "0123456789"),
        (10, 11, "01234\n[... 1 bytes left out ...]\n67890"),
        (10, 30, "01234\n[... 20 bytes left out ...]\n56789"),
        (0, 3, "0\n[... 1 bytes left out ...]\n2"),
    ],
)
def test_of_a_long_output_the_beginning_and_the_end_are_kept(
    output: int, length: int, kept: str
) -> None:
    text = ("0123456789" * 10)[:length]
    assert runs("printf", text, limits=Limits(output=output)).stdout == kept


def test_output_that_comes_bit_by_bit_is_put_together() -> None:
    bits = "for i in 1 2 3 4 5 6 7 8 9; do printf $i$i$i; /bin/true; done"
    result = runs("sh", "-c", bits, limits=Limits(output=8))
    assert result.stdout == "1112\n[... 19 bytes left out ...]\n8999"


def test_bytes_that_are_no_text_are_told_as_such() -> None:
    assert runs("printf", r"a\377b").stdout == "a\ufffdb"


def test_trusted_code_sees_places_of_its_own_and_nothing_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GH_TOKEN", "secret")
    (tmp_path / "seed").write_text("seeded")
    result = runs(
        "sh",
        "-c",
        "pwd; ls; cat $SEED; printenv HOME TMPDIR TORCHINDUCTOR_CACHE_DIR SEEDS;"
        " printenv GH_TOKEN; ls -d $HOME",
        files={"repro.py": "x"},
        folders={"/seed": tmp_path / "seed"},
        variables={"SEED": "/seed", "SEEDS": "/seeds"},
    )
    lines = result.stdout.splitlines()
    place = lines[0].removesuffix("/work")
    assert lines[1] == "repro.py" and lines[2].startswith("seeded")
    rest = [lines[2].removeprefix("seeded"), *lines[3:]]
    assert rest == [f"{place}/home", place, f"{place}/cache", "/seeds", f"{place}/home"]
    assert not os.path.exists(place)


def test_a_path_of_the_sandbox_is_put_right_in_the_command() -> None:
    result = runs("echo", "/tmp/work/a", "/tmp/work", "/tmp/workshop", "/tmp/other", "x/tmp/work")
    work = result.stdout.split()[1]
    assert work != "/tmp/work" and work.endswith("/work")
    assert result.stdout.split() == [f"{work}/a", work, "/tmp/workshop", "/tmp/other", "x/tmp/work"]


def test_trusted_code_has_the_kernels_limits() -> None:
    result = runs("sh", "-c", "ulimit -n; ulimit -c; ulimit -t", limits=Limits(cpu=33))
    assert result.stdout.split() == ["4096", "0", "33"]


def test_what_it_leaves_running_is_killed(tmp_path: Path) -> None:
    result = runs("sh", "-c", "sleep 3600 >/dev/null 2>&1 & echo $!")
    pid = int(result.stdout)
    until(lambda: watch.measure_usage(pid).tasks == 0 or _is_dead(pid), "the end of the child")


def _is_dead(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"


def test_all_runs_can_be_stopped_from_another_thread() -> None:
    with make_sandbox(FOREVER, trust=True, limits=Limits(seconds=PATIENCE)) as box:
        looked = itertools.count()

        def clock() -> float:
            if next(looked) == 1:
                threading.Thread(target=module.stop_all).start()
            return 0.0

        box.clock = clock
        with pytest.raises(CannotJudgeError, match="was stopped"):
            box.run()
    assert runs("true").ending == "exited"


def test_bubblewrap_gets_the_whole_command_line_and_an_empty_environment(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "secret")
    says(fake, f'{STARTED}echo "$GH_TOKEN"; for word; do echo "$word"; done\n')
    with make_sandbox(["prog", "a b"], files={"r.py": "text"}, variables={"A": "1"}) as box:
        result = box.run()
        words = result.stdout.splitlines()
        (file,) = [word for word in words if word.endswith("/r.py") and "/tmp/work" not in word]
        assert Path(file).read_text() == "text"
        assert stat.S_IMODE(os.stat(file).st_mode) == 0o644
        assert words[0] == "" and words[-2:] == ["prog", "a b"] and "A" in words
        # each command line of root has another user's number
        assert [w for w in words[1:] if not w.isdigit()] == [
            w for w in box.argv[1:] if not w.isdigit()
        ]
    assert result.contained and result.ending == "exited"
    assert not os.path.exists(file)


@pytest.mark.parametrize("code", [0, 1, 126, 127])
@pytest.mark.parametrize("who", ["bwrap", "prlimit", "setpriv"])
def test_a_sandbox_that_cannot_be_set_up_is_no_answer_of_the_program(
    who: str, code: int, fake: Path
) -> None:
    says(fake, f"echo '{who}: one' >&2; echo two >&2; exit {code}\n")
    with make_sandbox(["true"]) as box, pytest.raises(CannotJudgeError, match=r"set up \(two\)"):
        box.run()


@pytest.mark.parametrize("code", [1, 2, 126, 127])
@pytest.mark.parametrize("words", ["bwrap: give --trust", "prlimit: x", "Traceback"])
def test_a_program_may_fail_as_it_likes(words: str, code: int, fake: Path) -> None:
    says(fake, WORKS)
    with make_sandbox(["sh", "-c", f"echo '{words}' >&2; exit {code}"]) as box:
        assert box.run().exit == code


def test_a_command_that_the_sandbox_lacks_is_no_answer(fake: Path) -> None:
    says(fake, WORKS)
    with make_sandbox(["/no/python"]) as box, pytest.raises(CannotJudgeError, match="/no/python"):
        box.run()


def test_a_program_has_no_input_and_cannot_say_that_it_started(fake: Path) -> None:
    says(fake, WORKS)
    with make_sandbox(["readlink", "/proc/self/fd/0"]) as box:
        assert box.run().stdout == "/dev/null\n"


def test_a_sandbox_that_never_started_is_no_answer(fake: Path) -> None:
    says(fake, "exit 0\n")
    with make_sandbox(["true"]) as box, pytest.raises(CannotJudgeError, match="said nothing"):
        box.run()


def test_a_bubblewrap_that_cannot_be_started_is_no_answer(fake: Path) -> None:
    with make_sandbox(["true"]) as box, pytest.raises(CannotJudgeError, match="cannot be started"):
        box.run()


def test_the_interpreters_are_shown_and_searched(
    fake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = {
        Path("/one"): View(("/opt/one",), (), ("/s1",)),
        Path("/two"): View(("/opt/two",), (), ("/s2",)),
    }
    monkeypatch.setattr(module, "build_interpreter_view", views.__getitem__)
    monkeypatch.setattr(module, "build_tool_view", lambda: View(("/opt/tool",)))
    box = make_sandbox(["x"], python=[Path("/one"), Path("/two")], with_tool=True)
    assert set(box.contents.view.shown) == {"/opt/one", "/opt/two", "/opt/tool"}
    assert box.variables == {"PYTHONPATH": "/s1:/s2"}
    box = make_sandbox(["x"], python=Path("/one"), variables={"A": "b"})
    assert box.contents.view.shown == ("/opt/one",)
    assert box.variables == {"PYTHONPATH": "/s1", "A": "b"}
    assert make_sandbox(["x"], variables={"A": "b"}).variables == {"A": "b"}


def test_without_bubblewrap_nothing_is_made_unless_it_is_trusted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing() -> str:
        raise CannotJudgeError("no bubblewrap")

    monkeypatch.setattr(bubblewrap, "find_bwrap", missing)
    with pytest.raises(CannotJudgeError, match="no bubblewrap"):
        make_sandbox([sys.executable])
    box = make_sandbox(["true"], trust=True)
    assert box.trust and box.limits == Limits() and box.command == ("true",)


def test_a_pipe_is_closed_when_it_has_been_read_to_its_end() -> None:
    """Or each run would leave two descriptors behind."""
    ours, theirs = os.pipe()
    pipe = os.fdopen(ours, "rb")
    stream = module.OutputReader(pipe, 100)
    os.write(theirs, b"all of it")
    os.close(theirs)
    stream.join()
    assert stream.decode() == "all of it" and pipe.closed
