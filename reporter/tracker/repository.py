"""Which host, which project, which token: decided as `gh` decides it, so that nobody has to learn
it twice.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from reporter.core import tokens
from reporter.core.errors import AuthenticationError, UsageError

PUBLIC = "github.com"
#: Another API address, for tests and proxies on this machine; never another machine, since the
#: token is sent there.
_API_VARIABLE = "BUGREPORT_GITHUB_API"
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?")
_OWNER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_ISSUE = re.compile(r"(?P<place>.+?)(?:#|/(?:issues|pull)/)(?P<number>\d+)(?:[/?#].*)?")


@dataclass(frozen=True)
class Repository:
    """A project on a host; `str` is what -R takes, with the host only where it is not
    github.com.
    """

    host: str
    owner: str
    name: str

    @property
    def full_name(self) -> str:
        """`OWNER/REPO`, as the API spells it."""
        return f"{self.owner}/{self.name}"

    @property
    def url(self) -> str:
        """The project's page."""
        return f"https://{self.host}/{self.full_name}"

    def __str__(self) -> str:
        return self.full_name if self.host == PUBLIC else f"{self.host}/{self.full_name}"


@dataclass(frozen=True)
class IssueAddress:
    """One issue of a project."""

    repository: Repository
    number: int

    @property
    def url(self) -> str:
        """The issue's page."""
        return f"{self.repository.url}/issues/{self.number}"

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"


@dataclass(frozen=True)
class Token:
    """A credential and the variable that it came from; only the name is ever shown."""

    value: str
    variable: str

    def __repr__(self) -> str:
        return f"Token({self.variable})"


def _find_default_host() -> str:
    """`GH_HOST`, else github.com.

    Raises:
        UsageError: the variable holds something else than a host.
    """
    host = os.environ.get("GH_HOST", "").strip().lower()
    if host and not _HOST.fullmatch(host):
        raise UsageError(
            f"GH_HOST is {host!r}, but must be a host such as github.example.com; correct it"
        )
    return host or PUBLIC


def parse_repository(text: str) -> Repository:
    """`[HOST/]OWNER/REPO`, or the project's address as a browser or `git` writes it.

    Raises:
        UsageError: it is neither.
    """
    found = _split_address(text.strip())
    if found is None:
        raise UsageError(
            f"{text!r} is not a project; write [HOST/]OWNER/REPO, as in `-R pytorch/pytorch`"
        )
    return found


def parse_issue(text: str) -> IssueAddress | None:
    """An issue's address or `[HOST/]OWNER/REPO#N`; None for any other text, which may be a file."""
    found = _ISSUE.fullmatch(text.strip())
    repository = _split_address(found["place"]) if found else None
    return IssueAddress(repository, int(found["number"])) if found and repository else None


def resolve_issue(word: str) -> IssueAddress | None:
    """The issue that a word of the command line means; None where it is a path that exists, or no
    issue's address.

    Raises:
        UsageError: GH_HOST holds no host.
    """
    return None if Path(word).exists() else parse_issue(word)


def _split_address(text: str) -> Repository | None:
    ssh = re.fullmatch(r"(?:ssh://)?git@([^:/]+)[:/](.+)", text)
    if ssh:
        text = f"{ssh[1]}/{ssh[2]}"
    elif "://" in text:
        address = urlsplit(text)
        if address.scheme not in ("http", "https") or "@" in address.netloc:
            return None
        text = address.netloc + address.path
    words = text.strip("/").removesuffix(".git").split("/")
    if len(words) == 2:
        words.insert(0, _find_default_host())
    if len(words) != 3:
        return None
    host, owner, name = words
    if not _HOST.fullmatch(host) or not _OWNER.fullmatch(owner) or not _NAME.fullmatch(name):
        return None
    if name in (".", ".."):
        return None
    return Repository(host.lower().removeprefix("www."), owner, name)


def build_api_url(host: str) -> str:
    """The address of a host's REST API, without a slash at its end.

    Raises:
        UsageError: BUGREPORT_GITHUB_API names anything but this machine.
    """
    given = os.environ.get(_API_VARIABLE, "").strip().rstrip("/")
    if given:
        address = urlsplit(given)
        if address.scheme not in ("http", "https") or address.hostname not in _LOCAL:
            raise UsageError(
                f"{_API_VARIABLE} is {given!r}, but may only name this machine, such as"
                " http://127.0.0.1:8080; unset it"
            )
        return given
    if host == PUBLIC:
        return "https://api.github.com"
    if host.endswith(".ghe.com"):
        return f"https://api.{host}"
    return f"https://{host}/api/v3"


def _list_token_variables(host: str) -> tuple[str, str]:
    """The variables that may hold the token for a host, the first one first."""
    if host == PUBLIC or host.endswith(".ghe.com"):
        return "GH_TOKEN", "GITHUB_TOKEN"
    return "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"


def find_token(host: str) -> Token | None:
    """The token for a host. A token for github.com is never offered to another host."""
    given = tokens.read_tokens()
    return next(
        (Token(given[name], name) for name in _list_token_variables(host) if name in given), None
    )


def need_token(host: str) -> Token:
    """The token for a host.

    Raises:
        AuthenticationError: there is none.
    """
    token = find_token(host)
    if token is None:
        first, second = _list_token_variables(host)
        option = "" if host == PUBLIC else f" --hostname {host}"
        raise AuthenticationError(
            f"there is no token for {host}; set {first} or {second}, for example `export"
            f" {first}=$(gh auth token{option})`"
        )
    return token
