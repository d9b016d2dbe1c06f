"""Names of projects as people write them, the API's address, and which token may go where."""

from __future__ import annotations

import pytest

from reporter.core import tokens
from reporter.core.errors import AuthenticationError, UsageError
from reporter.tracker.repository import (
    IssueAddress,
    Repository,
    build_api_url,
    find_token,
    need_token,
    parse_issue,
    parse_repository,
)

TORCH = Repository("github.com", "pytorch", "pytorch")
OWN = Repository("git.example.com", "a", "b.c")
PROJECTS = [
    ("pytorch/pytorch", TORCH),
    ("github.com/pytorch/pytorch", TORCH),
    ("https://github.com/pytorch/pytorch", TORCH),
    ("https://www.github.com/pytorch/pytorch.git", TORCH),
    ("git@github.com:pytorch/pytorch.git", TORCH),
    ("ssh://git@git.example.com/a/b.c.git", OWN),
    ("GIT.example.com/a/b.c", OWN),
]
NOT_PROJECTS = [
    "",
    "pytorch",
    "a/b/c/d",
    "a b/c",
    "a/..",
    "-a/b",
    "https://user:pw@github.com/a/b",
    "ftp://h/a/b",
    "a/b?x",
]
ISSUES = [
    ("pytorch/pytorch#12", IssueAddress(TORCH, 12)),
    ("https://github.com/pytorch/pytorch/issues/12", IssueAddress(TORCH, 12)),
    ("https://github.com/pytorch/pytorch/issues/12#issuecomment-3", IssueAddress(TORCH, 12)),
    ("git.example.com/a/b.c#7", IssueAddress(OWN, 7)),
    ("issue.md", None),
    ("notes#3", None),
    ("/tmp/x/issue#3.md", None),
]


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*tokens.read_tokens(), "GH_HOST"]:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("text", "expected"), PROJECTS)
def test_a_project_is_named_in_any_way_people_know(text: str, expected: Repository) -> None:
    assert parse_repository(text) == expected


@pytest.mark.parametrize("text", NOT_PROJECTS)
def test_what_is_no_project_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a project"):
        parse_repository(text)


@pytest.mark.parametrize(("text", "expected"), ISSUES)
def test_an_issue_is_told_from_a_file(text: str, expected: IssueAddress | None) -> None:
    assert parse_issue(text) == expected


def test_gh_host_is_the_host_that_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_HOST", "git.example.com")
    assert parse_repository("a/b.c") == OWN and str(OWN) == "git.example.com/a/b.c"
    assert (
        parse_repository("github.com/pytorch/pytorch") == TORCH and str(TORCH) == "pytorch/pytorch"
    )
    monkeypatch.setenv("GH_HOST", "no host")
    with pytest.raises(UsageError, match="GH_HOST"):
        parse_repository("a/b")


def test_the_api_of_each_kind_of_host(monkeypatch: pytest.MonkeyPatch) -> None:
    assert build_api_url("github.com") == "https://api.github.com"
    assert build_api_url("git.example.com") == "https://git.example.com/api/v3"
    assert build_api_url("octo.ghe.com") == "https://api.octo.ghe.com"
    monkeypatch.setenv("BUGREPORT_GITHUB_API", "http://127.0.0.1:8080/")
    assert build_api_url("github.com") == "http://127.0.0.1:8080"


@pytest.mark.parametrize(
    "address", ["http://example.com", "https://localhost.example.com", "file:///x", "127.0.0.1:1"]
)
def test_a_token_is_never_sent_to_an_address_of_the_environment_elsewhere(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUGREPORT_GITHUB_API", address)
    with pytest.raises(UsageError, match="only name this machine"):
        build_api_url("github.com")


def test_each_host_gets_its_own_token_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AuthenticationError, match="set GH_TOKEN or GITHUB_TOKEN"):
        need_token("github.com")
    monkeypatch.setenv("GITHUB_TOKEN", "second-value")
    assert need_token("github.com").variable == "GITHUB_TOKEN"
    monkeypatch.setenv("GH_TOKEN", "first-value")
    token = need_token("octo.ghe.com")
    assert (token.variable, token.value) == ("GH_TOKEN", "first-value")
    assert "first" not in repr(token)
    assert find_token("git.example.com") is None
    monkeypatch.setenv("GITHUB_ENTERPRISE_TOKEN", "theirs-value")
    assert need_token("git.example.com").value == "theirs-value"
    monkeypatch.setenv("GH_TOKEN", " ")
    assert need_token("github.com").value == "second-value"
