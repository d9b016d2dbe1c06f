"""A tracker that holds us to GitHub's published description: every request is validated against it,
and every answer is.

`tests/data/github_api.json` is that description (see trim_openapi.py). Answers are the
description's own examples with the values of the issue at hand put in. A request that the
description does not allow is a `violation`, and fails the test.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import cache, lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import requests
from openapi_core import Config, OpenAPI
from openapi_core.testing import MockRequest, MockResponse

from tests.support.places import DATA

Json = dict[str, Any]
DESCRIPTION = DATA / "github_api.json"
LONGEST_BODY = 65_536
TOKEN = "ghp_" + "Tt0" * 12
_PATIENCE = 300.0


@dataclass
class Fault:
    """One thing that goes wrong with an operation.

    `way`: answer (with `status`), reset, stall (until the client gives up), truncate, garble, empty
    or kill (the client, by signal 9). `processed`: it happens after the tracker has done what was
    asked. `late`: a stalled request is done all the same, once issues were listed so many times
    after it. The fault strikes `times` times, after `skip` requests went well.
    """

    operation: str
    way: str = "answer"
    processed: bool = False
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    message: str = ""
    late: int = 0
    times: int = 1
    skip: int = 0


@dataclass
class Repo:
    """A project of the tracker.

    `writers` may set labels and assignees; others' are dropped, as GitHub does it.
    """

    full_name: str
    labels: tuple[str, ...] = ("module: inductor", "module: dynamo", "module: correctness (silent)")
    writers: tuple[str, ...] = ()
    has_issues: bool = True
    archived: bool = False
    issues: list[Json] = field(default_factory=list)


@lru_cache(maxsize=1)
def description() -> Json:
    data: Json = json.loads(DESCRIPTION.read_text(encoding="utf-8"))
    data["servers"] = [{"url": "/"}]
    return data


@lru_cache(maxsize=1)
def api() -> OpenAPI:
    # that it is an OpenAPI document is checked when it is trimmed
    config = Config(spec_validator_cls=None)
    return OpenAPI.from_dict(description(), config=config)  # type: ignore[arg-type]


@lru_cache(maxsize=1)
def routes() -> list[tuple[str, re.Pattern[str], str, Json]]:
    found = []
    for path, methods in description()["paths"].items():
        pattern = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path))
        for method, operation in methods.items():
            found.append((method.upper(), pattern, operation["operationId"], operation))
    return found


def resolved(part: Json) -> Json:
    while "$ref" in part:
        _, _, kind, name = part["$ref"].split("/")
        part = description()["components"][kind][name]
    return part


def example(operation: str, status: int) -> Any:
    """The description's own example of an answer, to be filled in."""
    return json.loads(_example(operation, status))


@cache
def _example(operation: str, status: int) -> str:
    declared = next(item for _, _, name, item in routes() if name == operation)
    content = resolved(declared["responses"][str(status)])["content"]["application/json"]
    return json.dumps(resolved(next(iter(content["examples"].values())))["value"])


def _route(method: str, path: str) -> tuple[str, dict[str, str], Json] | None:
    """The operation that a request is for, what its path says, and what is declared of it."""
    for declared_method, pattern, operation, declared in routes():
        if declared_method == method and (match := pattern.fullmatch(path)):
            return operation, match.groupdict(), declared
    return None


class Tracker(ThreadingHTTPServer):
    """A GitHub on 127.0.0.1.

    `log` has (operation, status) of each request in order; status 0 is no answer.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.base = f"http://127.0.0.1:{self.server_port}"
        self.prefix = ""
        self.people = {TOKEN: "reporter"}
        self.repos = {"pytorch/pytorch": Repo("pytorch/pytorch")}
        self.gists: list[Json] = []
        self.faults: list[Fault] = []
        self.log: list[tuple[str, int]] = []
        self.violations: list[str] = []
        self.authorizations: set[str] = set()
        self.index_lags = False
        self.search_gives_up = False
        self.victim: int | None = None
        self.lock = threading.RLock()
        self.stalled = threading.Semaphore(0)
        self.under_way: list[tuple[int, Callable[[], object]]] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[Tracker]:
        thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()

    @property
    def repo(self) -> Repo:
        return self.repos["pytorch/pytorch"]

    def count(self, operation: str) -> int:
        """How many requests of an operation have arrived."""
        return sum(name == operation for name, _ in self.log)

    def shortens_patience(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whoever asks what will never be answered gives up at once, and not after the minutes that
        an answer may take.

        The client hears of it when the tracker has the request, and has done what it will do about
        it.
        """
        send = requests.adapters.HTTPAdapter.send

        def hasty(
            adapter: requests.adapters.HTTPAdapter,
            request: requests.PreparedRequest,
            *given: Any,
            timeout: Any = None,
            **more: Any,
        ) -> requests.Response:
            if not self._will_stall(request.method or "", request.url or ""):
                return send(adapter, request, *given, timeout=timeout, **more)
            try:
                return send(adapter, request, *given, timeout=(_PATIENCE, 0.01), **more)
            except requests.ReadTimeout:
                assert self.stalled.acquire(timeout=_PATIENCE)
                raise

        monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", hasty)

    def _will_stall(self, method: str, url: str) -> bool:
        found = _route(method, urlsplit(url).path.removeprefix(self.prefix))
        return found is not None and any(
            fault.way == "stall"
            and fault.operation == found[0]
            and fault.times > 0
            and fault.skip == 0
            for fault in self.faults
        )

    def fault_for(self, operation: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.operation == operation and fault.times > 0:
                    if fault.skip > 0:
                        fault.skip -= 1
                        continue
                    fault.times -= 1
                    return fault
        return None

    def add_issue(
        self,
        title: str,
        body: str,
        *,
        repo: str = "pytorch/pytorch",
        author: str = "octocat",
        **more: Any,
    ) -> Json:
        """An issue that is there already, or is created now."""
        with self.lock:
            issues = self.repos[repo].issues
            issue = {
                "number": len(issues) + 1,
                "title": title,
                "body": body,
                "labels": [],
                "assignees": [],
                "state": "open",
                "state_reason": None,
                "author": author,
                "created_at": datetime.now(timezone.utc),
                "comments": [],
                "indexed": not self.index_lags,
                **more,
            }
            issues.append(issue)
            return issue

    # -- answers ------------------------------------------------------------------------------

    def answer(
        self, operation: str, place: dict[str, str], query: Json, given: Json
    ) -> tuple[int, Any, Json]:
        name = f"{place.get('owner')}/{place.get('repo')}"
        repo = self.repos.get(name) or next(
            (r for n, r in self.repos.items() if n.lower() == name.lower()), None
        )
        if "owner" in place and repo is None:
            return 404, _error("Not Found", 404), {}
        method = getattr(self, "_" + re.sub(r"\W", "_", operation))
        with self.lock:
            found: tuple[int, Any, Json] = method(repo, place, query, given)
        return found

    def _repos_get(
        self, repo: Repo, place: Json, query: Json, given: Json
    ) -> tuple[int, Any, Json]:
        owner, _, name = repo.full_name.partition("/")
        data = example("repos/get", 200)
        data.update(
            name=name,
            full_name=repo.full_name,
            has_issues=repo.has_issues,
            archived=repo.archived,
            url=f"{self.base}{self.prefix}/repos/{repo.full_name}",
            language=None,
        )
        data["owner"]["login"] = owner
        for part in ("source", "parent", "template_repository"):
            if isinstance(data.get(part), dict):
                data[part].setdefault("language", None)
        return 200, data, {}

    def _users_get_authenticated(
        self, repo: None, place: Json, query: Json, given: Json
    ) -> tuple[int, Any, Json]:
        public = description()["components"]["schemas"]["public-user"]["properties"]
        known = example("users/get-authenticated", 200)
        data = {
            name: value for name, value in known.items() if name in public and "private" not in name
        }
        return 200, {**data, "login": given["login"], "user_view_type": "public"}, {}

    def _issues_get_label(
        self, repo: Repo, place: Json, query: Json, given: Json
    ) -> tuple[int, Any, Json]:
        wanted = unquote(place["name"])
        if wanted not in repo.labels:
            return 404, _error("Not Found", 404), {}
        return 200, {**example("issues/get-label", 200), "name": wanted}, {}

    def _issues_create(
        self, repo: Repo, place: Json, query: Json, given: Json
    ) -> tuple[int, Any, Json]:
        if not repo.has_issues:
            return 410, _error("Issues are disabled for this repo", 410), {}
        if len(given.get("body") or "") > LONGEST_BODY:
            return 422, _too_long("body"), {}
        may_write = given["login"] in repo.writers
        issue = self.add_issue(
            given["title"],
            given.get("body") or "",
            repo=repo.full_name,
            author=given["login"],
            labels=list(given.get("labels") or []) if may_write else [],
            assignees=list(given.get("assignees") or []) if may_write else [],
        )
        return 201, self._issue(repo, issue), {}

    def _issues_get(
        self, repo: Repo, place: Json, query: Json, given: Json
    ) -> tuple[int, Any, Json]:
        issue = self._find(repo, place)
        if issue is None:
            return 404, _error("Not Found", 404), {}
        return 200, self._issue(repo, issue), {}

    def _issues_list_for_repo(
        self, repo: Repo, place: Json, query: Json, given: Json
    ) -> tuple[int, Any, Json]:
        wanted = query.get("state", ["open"])[0]
        issues = [issue for issue in repo.issues if wanted in ("all", issue["state"])]
        issues.sort(
            key=lambda item: (item["created_at"], item["number"]),
            reverse=query.get("direction", ["desc"])[0] == "desc",
        )
        page, links = self._page(issues, query, f"/repos/{repo.full_name}/issues")
        return 200, [self._issue(repo, issue) for issue in page], links

    def _issues_list_comments(
        self, repo: Repo, place: Json, query: Json, given: Json
    ) -> tuple[int, Any, Json]:
        issue = self._find(repo, place)
        if issue is None:
            return 404, _error("Not Found", 404), {}
        where = f"/repos/{repo.full_name}/issues/{issue['number']}/comments"
        since = datetime.fromisoformat(
            query.get("since", ["1970-01-01T00:00:00Z"])[0][:-1] + "+00:00"
        )
        comments = [item for item in issue["comments"] if _written(item) >= since]
        page, links = self._page(comments, query, where)
        return 200, [self._comment(repo, issue, comment) for comment in page], links

    def _issues_create_comment(
        self, repo: Repo, place: Json, query: Json, given: Json
    ) -> tuple[int, Any, Json]:
        issue = self._find(repo, place)
        if issue is None:
            return 404, _error("Not Found", 404), {}
        if len(given["body"]) > LONGEST_BODY:
            return 422, _too_long("body"), {}
        comment = {
            "id": len(issue["comments"]) + 1,
            "body": given["body"],
            "author": given["login"],
            "created_at": datetime.now(timezone.utc),
        }
        issue["comments"].append(comment)
        return 201, self._comment(repo, issue, comment), {}

    def _search_issues_and_pull_requests(
        self, repo: None, place: Json, query: Json, given: Json
    ) -> tuple[int, Any, Json]:
        asked = query["q"][0]
        if len(asked) > 256:
            return 422, _too_long("q"), {}
        matches = [(r, i) for r in self.repos.values() for i in r.issues if _matches(asked, r, i)]
        if self.search_gives_up:
            matches = matches[1:]
        page, links = self._page(matches, query, "/search/issues")
        data = example("search/issues-and-pull-requests", 200)
        items = []
        for r, issue in page:
            item = {**data["items"][0], **self._facts(r, issue), "score": 1.0}
            item.pop("pull_request", None)
            items.append(item)
        facts = {"total_count": len(matches), "search_type": "lexical"}
        facts["incomplete_results"] = self.search_gives_up
        return 200, {**facts, "items": items}, links

    def _gists_create(
        self, repo: None, place: Json, query: Json, given: Json
    ) -> tuple[int, Any, Json]:
        self.gists.append(given)
        number = len(self.gists)
        data = example("gists/create", 201)
        data.update(
            html_url=f"https://gist.github.com/{number:032x}", public=given.get("public", False)
        )
        return 201, data, {}

    # -- parts of answers ---------------------------------------------------------------------

    def _facts(self, repo: Repo, issue: Json) -> Json:
        label = example("issues/get-label", 200)
        user = example("issues/create", 201)["user"]
        where = f"{self.base}{self.prefix}/repos/{repo.full_name}/issues/{issue['number']}"
        return {
            "number": issue["number"],
            "title": issue["title"],
            "body": issue["body"],
            "url": where,
            "comments_url": f"{where}/comments",
            "html_url": f"https://github.com/{repo.full_name}/issues/{issue['number']}",
            "labels": [{**label, "name": name} for name in issue["labels"]],
            "assignees": [{**user, "login": name} for name in issue["assignees"]],
            "assignee": None,
            "state": issue["state"],
            "state_reason": issue["state_reason"],
            "user": {**user, "login": issue["author"]},
            "created_at": issue["created_at"].strftime("%Y-%m-%dT%H:%M:%SZ"),
            "comments": len(issue["comments"]),
        }

    def _issue(self, repo: Repo, issue: Json) -> Json:
        data: Json = {**example("issues/create", 201), **self._facts(repo, issue)}
        data.pop("pull_request", None)
        return data

    def _comment(self, repo: Repo, issue: Json, comment: Json) -> Json:
        data: Json = example("issues/create-comment", 201)
        page = f"https://github.com/{repo.full_name}/issues/{issue['number']}"
        page += f"#issuecomment-{comment['id']}"
        data.update(id=comment["id"], body=comment["body"], html_url=page)
        data["created_at"] = data["updated_at"] = _written(comment).strftime("%Y-%m-%dT%H:%M:%SZ")
        data["user"]["login"] = comment["author"]
        return data

    def _find(self, repo: Repo, place: Json) -> Json | None:
        return next((i for i in repo.issues if str(i["number"]) == place["issue_number"]), None)

    def _page(self, items: list[Any], query: Json, where: str) -> tuple[list[Any], Json]:
        size, page = int(query.get("per_page", ["30"])[0]), int(query.get("page", ["1"])[0])
        shown = items[(page - 1) * size : page * size]
        if page * size >= len(items):
            return shown, {}
        kept = "&".join(f"{k}={v[0]}" for k, v in query.items() if k not in ("page", "q"))
        link = f'<{self.base}{self.prefix}{where}?{kept}&page={page + 1}>; rel="next"'
        return shown, {"Link": link}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Tracker

    def log_message(self, *_: object) -> None:
        """The default writes to stderr."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_PATCH(self) -> None:
        self._serve()

    def finish(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    def _serve(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        address = urlsplit(self.path)
        path = address.path.removeprefix(self.server.prefix)
        query = parse_qs(address.query)
        found = _route(self.command, path)
        if found is None:
            self.server.violations.append(f"no such operation: {self.command} {path}")
            return self._send(404, _error("Not Found", 404), {})
        operation, place, declared = found
        self._catch_up(operation)
        fault = self.server.fault_for(operation)
        if fault is not None and not fault.processed and fault.way != "answer":
            self.server.log.append((operation, 0))
            return self._break(
                fault, lambda: self._process(operation, place, query, data, path, declared)
            )
        if fault is not None and not fault.processed:
            answer: tuple[int, Any, Json] = (
                fault.status,
                _error(fault.message, fault.status),
                fault.headers,
            )
        else:
            answer = self._process(operation, place, query, data, path, declared)
        if fault is not None and fault.processed:
            if fault.way == "answer":
                answer = (fault.status, _error(fault.message, fault.status), fault.headers)
            else:
                self.server.log.append((operation, 0))
                return self._break(fault, None, answer)
        self.server.log.append((operation, answer[0]))
        self._send(*answer)

    def _catch_up(self, operation: str) -> None:
        """Does what came long ago, if it is to appear before this request is looked at."""
        with self.server.lock:
            waiting, self.server.under_way = self.server.under_way, []
            for rest, process in waiting:
                left = rest - (operation == "issues/list-for-repo")
                if left < 0:
                    process()
                else:
                    self.server.under_way.append((left, process))

    def _process(
        self, operation: str, place: Json, query: Json, data: bytes, path: str, declared: Json
    ) -> tuple[int, Any, Json]:
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        self.server.authorizations.add(token)
        login = self.server.people.get(token)
        if token and login is None:
            return 401, _error("Bad credentials", 401), {}
        request = MockRequest(
            self.server.base,
            self.command.lower(),
            path,
            args={name: values[0] for name, values in query.items()},
            view_args=place,
            data=data or None,
            content_type="application/json" if data else "",
        )
        self._check_request(request, operation, declared, query, data)
        given = {**(json.loads(data) if data else {}), "login": login}
        status, body, headers = self.server.answer(operation, place, query, given)
        self._check_answer(request, operation, declared, status, body)
        return status, body, headers

    def _check_request(
        self, request: Any, operation: str, declared: Json, query: Json, data: bytes
    ) -> None:
        same = ("request", request.method, request.path, str(query), data)
        if same in _VALID:
            return
        before = len(self.server.violations)
        try:
            api().validate_request(request)
        except Exception as error:
            self.server.violations.append(f"request of {operation}: {error!r:.500}")
        known = {resolved(item)["name"] for item in declared.get("parameters", ())}
        for name in set(query) - known:
            self.server.violations.append(f"request of {operation}: no parameter {name!r}")
        if data:
            schema = declared["requestBody"]["content"]["application/json"]["schema"]
            for name in set(json.loads(data)) - set(resolved(schema).get("properties", {})):
                self.server.violations.append(f"request of {operation}: no field {name!r}")
        if len(self.server.violations) == before:
            _VALID.add(same)

    def _check_answer(
        self, request: Any, operation: str, declared: Json, status: int, body: Any
    ) -> None:
        if str(status) not in declared["responses"]:
            self.server.violations.append(f"answer of {operation}: status {status} is not declared")
            return
        body = _strictly(body)
        news = {_shape(operation, status, item) for item in _items(body)} - _VALID
        if isinstance(body, list):
            body = [item for item in body if _shape(operation, status, item) in news]
        elif "items" in body:
            items = [item for item in body["items"] if _shape(operation, status, item) in news]
            body = {**body, "items": items}
        news.add(_shape(operation, status, body))
        if news <= _VALID:
            return
        answer = MockResponse(json.dumps(body).encode(), status, content_type="application/json")
        try:
            api().validate_response(request, answer)
        except Exception as error:
            detail = getattr(error.__cause__, "schema_errors", error)
            self.server.violations.append(f"answer of {operation}: {detail!r:.500}")
        else:
            _VALID.update(news)

    def _break(
        self, fault: Fault, process: Any, answer: tuple[int, Any, Json] | None = None
    ) -> None:
        if fault.way == "kill":
            end = time.monotonic() + _PATIENCE
            while self.server.victim is None and time.monotonic() < end:
                time.sleep(0.005)
            assert self.server.victim is not None
            os.kill(self.server.victim, signal.SIGKILL)
            return self._reset()
        if fault.way == "stall":
            if fault.late:
                self.server.under_way.append((fault.late, process))
            self.server.stalled.release()
            with contextlib.suppress(OSError):
                self.connection.settimeout(_PATIENCE)
                self.connection.recv(1)  # its end: the client has gone
            return self._reset()
        if fault.way == "reset":
            return self._reset()
        assert answer is not None
        body = json.dumps(answer[1]).encode()
        if fault.way == "truncate":
            self._head(answer[0], len(body))
            self.wfile.write(body[: len(body) // 2])
            return self._reset(hard=False)
        broken = {
            "garble": b'{"number": 12, "html',
            "empty": b"",
            "html": b"<html>Unicorn!</html>",
        }[fault.way]
        self._head(answer[0], len(broken))
        self.wfile.write(broken)

    def _reset(self, hard: bool = True) -> None:
        self.close_connection = True
        if hard:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())

    def _head(self, status: int, length: int, headers: Json | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, status: int, body: Any, headers: Json) -> None:
        data = json.dumps(body).encode()
        with contextlib.suppress(OSError):
            self._head(status, len(data), headers)
            self.wfile.write(data)


#: What was held against the description already and is as it should be.
_VALID: set[object] = set()


def _shape(operation: str, status: int, part: Any) -> tuple[str, int, str]:
    """A part of an answer with all numbers alike: the description does not mind them."""
    return operation, status, re.sub(r"\d+", "0", json.dumps(part))


def _items(body: Any) -> list[Any]:
    if isinstance(body, dict):
        body = body.get("items", [])
    return list(body)


def _written(comment: Json) -> datetime:
    """When a comment was written: now, if a test has not said it."""
    return comment.get("created_at") or datetime.now(timezone.utc)


def _strictly(body: Any) -> Any:
    """The answer as the description wants it: an open issue has the reason null, which is declared
    and then forgotten in the list of values.
    """
    if isinstance(body, list):
        return [_strictly(item) for item in body]
    if isinstance(body, dict):
        items = {name: _strictly(item) if name == "items" else item for name, item in body.items()}
        return {n: i for n, i in items.items() if not (n == "state_reason" and i is None)}
    return body


def _error(message: str, status: int) -> Json:
    return {
        "message": message,
        "documentation_url": "https://docs.github.com/rest",
        "status": str(status),
    }


def _too_long(name: str) -> Json:
    reason = f"{name} is too long (maximum is 65536 characters)"
    return {
        "message": "Validation Failed",
        "documentation_url": "https://docs.github.com/rest",
        "errors": [{"resource": "Issue", "code": "custom", "field": name, "message": reason}],
    }


def _matches(asked: str, repo: Repo, issue: Json) -> bool:
    """The part of the search language that we use: repo:, is:issue, in:body, "phrases" and words,
    all of which must match.
    """
    if not issue["indexed"]:
        return False
    phrases = re.findall(r'"([^"]*)"', asked)
    words = re.sub(r'"[^"]*"', " ", asked).split()
    text = issue["body"] if "in:body" in words else f"{issue['title']}\n{issue['body']}"
    for word in words:
        name, _, value = word.partition(":")
        if name == "repo" and value.lower() != repo.full_name.lower():
            return False
        if not value and word.lower() not in text.lower():
            return False
    return all(phrase.lower() in text.lower() for phrase in phrases)


def long_ago(days: float) -> datetime:
    return datetime.now(timezone.utc) - timedelta(days=days)
