"""A token goes to its host and nowhere else: no child process, no log, no sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import github
import pytest

from reporter.cli import shell
from reporter.core import tokens
from reporter.core.tokens import remove_credentials, remove_logins
from reporter.execution import launch
from reporter.execution.interpreter import ask
from reporter.store.database import open_store
from reporter.store.filings import FilingState, set_state
from reporter.tracker.error_messages import describe_refusal
from tests.support.github.tracker import TOKEN

NAMES = ["GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"]


@pytest.mark.parametrize("name", NAMES)
def test_no_way_of_starting_a_process_hands_a_token_on(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, TOKEN)
    monkeypatch.setenv("HF_TOKEN", "the user's own, which a script may need")
    assert name not in launch.build_variables() and name not in remove_credentials(os.environ)
    assert "HF_TOKEN" in launch.build_variables()
    child = ask(Path(sys.executable), "import os; answer(names=sorted(os.environ))")["names"]
    assert name not in child and "HF_TOKEN" in child


#: Takes the tokens, and tells what is left of them.
TAKES = """
import json, os, subprocess
from reporter.core import tokens
tokens.take()
child = subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
print(json.dumps({
    "own": [name for name in os.environ if "TOKEN" in name],
    "read": tokens.read_tokens(),
    "child": child,
    "redacted": tokens.redact("Bearer ghp_abcdefgh12345 and ghp_abcdefgh and short"),
}))
"""


def test_once_taken_a_token_is_in_no_environment_and_in_no_text() -> None:
    given = {
        "GH_TOKEN": "ghp_abcdefgh",
        "GITHUB_TOKEN": "ghp_abcdefgh12345",
        "GH_ENTERPRISE_TOKEN": "short",
    }
    kept = {"TOKENIZERS_PARALLELISM": "1", "HF_TOKEN": "theirs"}
    others = {name: value for name, value in os.environ.items() if "TOKEN" not in name}
    done = subprocess.run(
        [sys.executable, "-c", TAKES], env={**others, **given, **kept},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert set(found["own"]) == set(kept) and found["read"] == given
    assert all(f"{name}={value}\n" in found["child"] for name, value in kept.items())
    assert not any(
        f"{name}=" in found["child"] or value in found["child"] for name, value in given.items()
    )
    assert found["redacted"] == "Bearer <GITHUB_TOKEN> and <GH_TOKEN> and short"


def test_an_internal_error_keeps_the_token_to_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def work() -> None:
        shell.say(f"said {TOKEN}")
        raise ZeroDivisionError(f"Authorization: token {TOKEN}")

    assert shell.guard(work) == 70
    captured = capsys.readouterr()
    assert captured.out == "said <GH_TOKEN>\n" and TOKEN not in captured.err
    (log,) = tmp_path.rglob("*.log")
    assert "token <GH_TOKEN>" in log.read_text() and TOKEN not in log.read_text()


@pytest.mark.parametrize("text", ["a\x1b[2Jb", "a\x07b", "a\x9b31mb", "a\rb"])
def test_the_last_word_before_the_terminal_has_no_control_characters(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.say(text)
    shell.talk(text + "\r\n\tkept")
    captured = capsys.readouterr()
    assert not set(captured.out) & set("\x1b\x07\x9b\r") and "\r\n\tkept" in captured.err


PART = "ghp_x7QmZp2LrT9vKe4WnB8sYd3HcJ6uFgA1oRiX"


@pytest.mark.parametrize("told", [
    f"bad credentials: {PART}", f"{PART[:20]}\n{PART[20:]}", f"a {PART[10:22]} b",
    f"{PART[:8]}… is not valid", f"…{PART[-8:]}", f"token '{PART[:15]}' (rest: '{PART[15:]}')",
])  # fmt: skip
def test_a_part_of_a_token_counts_as_the_token(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", PART)
    text = tokens.redact(told)
    assert "<GH_TOKEN>" in text
    assert not any(PART[i : i + 8] in text for i in range(len(PART) - 7))


def test_what_is_no_part_of_a_token_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "github_pat_11ABCDEFG0aBcDeFgHiJkL")
    text = "a token begins with ghp_ or github_pat_; ABCDEFG is the alphabet"
    assert tokens.redact(text) == text


def test_what_a_server_said_is_cleaned_of_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    error = github.GithubException(
        500, {"message": f"no such token {TOKEN[:8]} {TOKEN[8:]}", "errors": [TOKEN[:25]]}, {}
    )
    sentence = str(
        describe_refusal("github.com", None, "create the issue", error, now=0.0, writes=True)
    )
    assert TOKEN[:8] not in sentence and TOKEN[8:] not in sentence and "<GH_TOKEN>" in sentence


def test_no_part_of_a_token_is_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    path = tmp_path / "store.sqlite"
    with open_store(path) as store:
        set_state(
            store,
            "key",
            "a/b",
            FilingState.UNKNOWN,
            detail=f"{TOKEN[:8]} and {TOKEN[8:]} " + "x" * 9000,
        )
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    stored = b"".join(file.read_bytes() for file in files)
    assert TOKEN[:8].encode() not in stored and TOKEN[8:20].encode() not in stored
    assert b"<GH_TOKEN>" in stored and b"x" * 600 not in stored


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("the index https://me:secret@x.org/simple is", "the index https://x.org/simple is"),
        ("(http://secret@x.org:80/a@b)", "(http://x.org:80/a@b)"),
        ("https://me:p@ss@x.org", "https://x.org"),
        ("see https://x.org/simple, or ask me@x.org", "see https://x.org/simple, or ask me@x.org"),
    ],
)
def test_an_address_is_told_without_its_login(text: str, without: str) -> None:
    assert remove_logins(text) == without
