"""Programs that start processes of their own: the one whose compiled call fails is found."""

from __future__ import annotations

import json

import pytest

from reporter.cli.main import run
from tests.support import interpreter, scripts


def diagnosed(name: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, object], str]:
    python, script = str(interpreter.WARM), str(scripts.script(f"children/{name}"))
    run(["diagnose", "--json", "--no-input", "--python", python, script])
    shown = capsys.readouterr()
    return json.loads(shown.out)["verdict"], shown.err


@pytest.mark.parametrize(
    ("name", "kind", "layer"),
    [
        pytest.param("wrong_in_server", "wrong_result", "backend", marks=pytest.mark.slow),
        pytest.param("wrong_in_fork", "wrong_result", "backend", marks=pytest.mark.slow),
        pytest.param("wrong_in_one", "wrong_result", "backend", marks=pytest.mark.slow),
        pytest.param("dies_in_one", "process_death", "backend", marks=pytest.mark.slow),
        pytest.param("collective_inside", "not_reproduced", "none", marks=pytest.mark.slow),
    ],
)
def test_the_process_whose_call_fails_is_found_and_a_collective_is_no_failure(
    name: str, kind: str, layer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, talk = diagnosed(name, capsys)
    assert (found["kind"], found["layer"]) == (kind, layer), found["summary"]
    # the process that dies takes the other one with it, at times before that one compiles
    # and of a pool's processes one may do all the work
    all_compile = name in ("wrong_in_one", "wrong_in_server", "collective_inside")
    started = ("2 of them compile",) if all_compile else ("1 of them compiles", "2 of them compile")
    assert any(count in talk for count in started), talk
    if kind == "not_reproduced":
        assert "What 2 compiled calls returned agrees with eager" in str(found["summary"])


def test_a_process_that_compiles_nothing_is_not_looked_at(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found, talk = diagnosed("nothing_compiled", capsys)
    assert found["kind"] == "not_reproduced" and "Nothing was compiled" in str(found["summary"])
    assert "once more" not in talk


@pytest.mark.slow
def test_the_rank_of_torchrun_whose_call_fails_is_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    python, script = str(interpreter.COLD), str(scripts.script("children/ranks_of_torchrun"))
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", script]
    run(["diagnose", "--json", "--no-input", "--python", python, *launch])
    shown = capsys.readouterr()
    found = json.loads(shown.out)["verdict"]
    assert (found["kind"], found["layer"]) == ("wrong_result", "backend"), found["summary"]
    assert "2 of them compile" in shown.err


@pytest.mark.slow
@pytest.mark.parametrize("launch", [(), ("-m", "torch.distributed.run", "--nproc-per-node", "2")])
def test_a_process_that_fails_uncompiled_too_is_not_excused_by_rounding(
    launch: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    python, script = str(interpreter.COLD), str(scripts.script("children/own_check_fails"))
    run(["diagnose", "--json", "--no-input", "--python", python, *launch, script])
    found = json.loads(capsys.readouterr().out)["verdict"]
    assert found["kind"] == "invalid_program", found["summary"]
    assert "without the compiler: AssertionError in own_check_fails.py" in found["summary"]
    assert "by rounding only" in found["summary"]


@pytest.mark.slow
@pytest.mark.parametrize(("how", "kind"), [("assertion", "crash"), ("signal", "process_death")])
def test_the_operator_that_fails_in_one_process_is_found(
    how: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    python, script = str(interpreter.WARM), str(scripts.script("children/operator_fails_in_one"))
    run(["diagnose", "--json", "--no-input", "--python", python, script, how])
    found = json.loads(capsys.readouterr().out)["verdict"]
    assert (found["kind"], found["layer"]) == (kind, "eager"), found["summary"]
    assert found["reproduced"] == [3, 3]
