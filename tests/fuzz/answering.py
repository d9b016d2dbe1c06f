"""A tracker that answers whatever it was given: documents by the kind of the request."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock

from reporter.tracker.http_session import RequestTimeouts, TrackerSession

#: Where the documents say that they are from: PyGithub asks no other host than that of the session.
_API = "https://api.github.com"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers: Mapping[str, Any] = {}

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        kind = "repository"
        for part in ("search", "comments", "issues"):
            if part in path:
                kind = part
                break
        text = json.dumps(self.answers.get(kind)).replace(_API, _address())
        body = text.encode("utf-8", "surrogatepass")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@lru_cache(maxsize=1)
def _server() -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _address() -> str:
    return f"http://127.0.0.1:{_server().server_port}"


@contextmanager
def session(answers: Mapping[str, Any]) -> Iterator[TrackerSession]:
    """A session with a tracker that has these answers."""
    variables = {"BUGREPORT_GITHUB_API": _address(), "GH_TOKEN": "ghp_" + "x" * 36}
    _Handler.answers = answers
    with (
        mock.patch.dict(os.environ, variables),
        TrackerSession(
            "github.com", timeouts=RequestTimeouts(5.0, 0.0, sleep=lambda _: None)
        ) as made,
    ):
        yield made
