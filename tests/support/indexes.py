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
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rstrip("/").rpartition("/")[2]
            if fault == "stalls":
                over.wait()
            elif name.endswith(".whl"):
                self._send_wheel(wheels / name)
            elif found := sorted(wheels.glob(f"{name}-*.whl")):
                lines = [f'<a href="/files/{_link(path, fault)}">{path.name}</a>' for path in found]
                self._send("\n".join(["<!DOCTYPE html><html><body>", *lines, "</body></html>"]))
            else:
                self.send_error(404)

        def do_HEAD(self) -> None:
            name = self.path.rpartition("/")[2]
            self._head("application/octet-stream", (wheels / name).stat().st_size)

        def _send_wheel(self, path: Path) -> None:
            data = path.read_bytes()
            is_torch = path.name.startswith("torch-")
            if is_torch and fault == "other bytes":
                data = data[:-1] + b"\7"
            if is_torch and fault == "other version":
                data = next(p for p in wheels.glob("torch-*.whl") if p != path).read_bytes()
            self._head("application/octet-stream", len(data))
            if is_torch and fault in ("stalls in a file", "breaks off"):
                self.wfile.write(data[: len(data) // 2])
                self.wfile.flush()
                if fault != "breaks off":
                    over.wait()
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

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _link(path: Path, fault: Fault) -> str:
    """A file's name, with its sum where that is what gives a fault away."""
    if fault != "other bytes":
        return path.name
    return f"{path.name}#sha256={hashlib.sha256(path.read_bytes()).hexdigest()}"
