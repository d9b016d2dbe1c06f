"""An index of packages that misbehaves: it stalls, ends within a file, or serves another wheel."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

Fault = Literal["none", "stalls", "stalls in a file", "breaks off", "other bytes", "other version"]


@contextmanager
def serve(wheels: Path, fault: Fault) -> Iterator[str]:
    """The address of a simple index of the wheels in a folder, with that fault in torch's files."""
    server = _Index(wheels, fault)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Index(ThreadingHTTPServer):
    """`over` is set when what stalls may go on."""

    daemon_threads = True

    def __init__(self, wheels: Path, fault: Fault) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.wheels, self.fault = wheels, fault
        self.over = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: _Index

    def do_GET(self) -> None:
        name = self.path.rstrip("/").rpartition("/")[2]
        if self.server.fault == "stalls":
            self.server.over.wait()
        elif name.endswith(".whl"):
            self._send_wheel(self.server.wheels / name)
        elif found := sorted(self.server.wheels.glob(f"{name}-*.whl")):
            lines = [
                f'<a href="/files/{_link(path, self.server.fault)}">{path.name}</a>'
                for path in found
            ]
            self._send("\n".join(["<!DOCTYPE html><html><body>", *lines, "</body></html>"]))
        else:
            self.send_error(404)

    def do_HEAD(self) -> None:
        name = self.path.rpartition("/")[2]
        self._head("application/octet-stream", (self.server.wheels / name).stat().st_size)

    def _send_wheel(self, path: Path) -> None:
        is_torch = path.name.startswith("torch-")
        data = _read_with_fault(path, self.server.fault) if is_torch else path.read_bytes()
        self._head("application/octet-stream", len(data))
        if is_torch and self.server.fault in ("stalls in a file", "breaks off"):
            self.wfile.write(data[: len(data) // 2])
            self.wfile.flush()
            if self.server.fault != "breaks off":
                self.server.over.wait()
            self.close_connection = True
        else:
            self.wfile.write(data)

    def _send(self, text: str) -> None:
        self._head("text/html", len(text.encode()))
        self.wfile.write(text.encode())

    def _head(self, kind: str, size: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def _link(path: Path, fault: Fault) -> str:
    """A file's name, with its sum where that is what gives a fault away."""
    if fault != "other bytes":
        return path.name
    return f"{path.name}#sha256={hashlib.sha256(path.read_bytes()).hexdigest()}"


def _read_with_fault(wheel: Path, fault: Fault) -> bytes:
    """What is sent of a wheel of torch: its own bytes, others, or those of another version."""
    if fault == "other version":
        return next(p for p in wheel.parent.glob("torch-*.whl") if p != wheel).read_bytes()
    data = wheel.read_bytes()
    return data[:-1] + b"\7" if fault == "other bytes" else data
