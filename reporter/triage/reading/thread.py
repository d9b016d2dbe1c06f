"""An issue with its comments, wherever it comes from: the tracker, the JSON of `gh issue view`, or
a Markdown file.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reporter.core.errors import UsageError
from reporter.tracker.http_session import TrackerSession
from reporter.tracker.plain_text import clean_line
from reporter.tracker.repository import IssueAddress

#: A tracker's body has at most 65,536 characters; a file that says it is an issue and is far longer
#: is something else.
LARGEST = 4 * 2**20
_COMMENTS = 200
_HEADER = re.compile(r"(?P<name>title|state|author|labels|number):\t(?P<value>.*)")


@dataclass(frozen=True)
class Post:
    """One text by one person; the first of a thread is the issue itself."""

    author: str
    text: str


@dataclass(frozen=True)
class IssueStatus:
    """What the tracker says of an issue: its labels, and whether it is `open` or `closed`."""

    labels: tuple[str, ...] = ()
    state: str = "open"


@dataclass(frozen=True)
class Thread:
    """An issue.

    `posts` are in the order of time, the issue's own text first; `name` is what messages call it.
    """

    name: str
    title: str
    posts: tuple[Post, ...]
    address: IssueAddress | None = None
    status: IssueStatus = IssueStatus()

    @property
    def author(self) -> str:
        """Who wrote the first post; empty if there are no posts."""
        return self.posts[0].author if self.posts else ""

    @property
    def own_text(self) -> str:
        """Everything the author wrote."""
        return "\n\n".join(post.text for post in self.posts if post.author == self.author)


def fetch(session: TrackerSession, address: IssueAddress) -> Thread:
    """The issue and its comments from the tracker.

    Raises:
        AuthenticationError, UsageError, TrackerError: as `TrackerSession.explain_failures` does.
    """
    project = session.read_repository(address.repository)
    with session.explain_failures(f"read {address}"):
        issue = project.get_issue(address.number)
        posts = [Post(_read_login(issue.user), issue.body or "")]
        comments: Iterable[Any] = issue.get_comments()[:_COMMENTS] if issue.comments else ()
        for comment in comments:
            posts.append(Post(_read_login(comment.user), comment.body or ""))
        return Thread(
            name=str(address),
            title=clean_line(issue.title or "", 300),
            posts=tuple(posts),
            address=address,
            status=IssueStatus(
                labels=tuple(clean_line(label.name) for label in issue.labels),
                state=str(issue.state),
            ),
        )


def read_file(path: Path) -> Thread:
    """An issue in a file.

    Raises:
        UsageError: it cannot be read, or is none.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(
            f"{path} cannot be read ({reason}); give an issue's address, OWNER/REPO#N, or a"
            " Markdown file"
        ) from None
    return read_text(data, str(path))


def read_text(data: bytes, name: str) -> Thread:
    """An issue as Markdown, or as the JSON of `gh issue view --json
    title,body,author,labels,state,comments`.

    Raises:
        UsageError: it is neither, or larger than an issue can be.
    """
    if len(data) > LARGEST:
        raise UsageError(
            f"{name} has more than {LARGEST} bytes, so it is no issue; give another file"
        )
    if b"\0" in data:
        raise UsageError(f"{name} is not text; give an issue as Markdown or as JSON")
    text = data.decode("utf-8-sig", "replace")
    if text.lstrip().startswith("{"):
        with contextlib.suppress(ValueError):  # Markdown may begin so, too
            return _parse_json(text, name)
    return _parse_markdown(text, name)


def _parse_json(text: str, name: str) -> Thread:
    """The JSON of `gh issue view`.

    Raises:
        ValueError: it is no JSON.
        UsageError: it is another one.
    """
    try:
        found = json.loads(text)
        posts = [Post(_read_author(found.get("author")), str(found.get("body") or ""))]
        for comment in found.get("comments") or ():
            posts.append(Post(_read_author(comment.get("author")), str(comment.get("body") or "")))
        labels = [
            clean_line(str(label["name"] if isinstance(label, Mapping) else label))
            for label in found.get("labels") or ()
        ]
        title = clean_line(str(found.get("title") or ""), 300)
        state = str(found.get("state") or "open").lower()
    except (AttributeError, TypeError, KeyError, RecursionError):
        raise UsageError(
            f"{name} is not what `gh issue view --json title,body,author,labels,state,comments`"
            " writes; give that or Markdown"
        ) from None
    return Thread(name, title, tuple(posts), status=IssueStatus(tuple(labels), state))


def _parse_markdown(text: str, name: str) -> Thread:
    """`gh issue view` writes a header of `name:<tab>value` lines and `--`; otherwise a title is the
    first heading.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    header: dict[str, str] = {}
    if "--" in lines[:20] and _HEADER.fullmatch(lines[0]):
        end = lines.index("--")
        for line in lines[:end]:
            found = _HEADER.fullmatch(line)
            if found:
                header[found["name"]] = found["value"]
        lines = lines[end + 1 :]
    first = next((line for line in lines if line.strip()), "")
    if "title" not in header and re.match(r"#\s", first):
        header["title"] = first[1:].rstrip("#").strip()
        lines = lines[lines.index(first) + 1 :]
    return Thread(
        name,
        clean_line(header.get("title", ""), 300),
        (Post(header.get("author", "author"), "\n".join(lines)),),
        status=IssueStatus(
            tuple(
                clean_line(each) for each in header.get("labels", "").split(", ") if each.strip()
            ),
            header.get("state", "open").lower(),
        ),
    )


def _read_login(user: Any) -> str:
    return clean_line(str(getattr(user, "login", None) or "ghost"))


def _read_author(author: Any) -> str:
    return clean_line(str(author["login"] if isinstance(author, Mapping) else author or "author"))
