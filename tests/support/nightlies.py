"""An index of nightly builds on this machine: one real wheel of torch under other versions,
commits, and with lines of it changed.

Nothing is compressed anew: what stays the same is copied from wheel to wheel as it lies there.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
import struct
import threading
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_LOCAL = struct.Struct("<4s5H3L2H")


def rebuilt(
    wheel: Path, folder: Path, version: str, git: str, changes: Mapping[str, tuple[str, str]]
) -> Path:
    """The wheel as version `version` (with its local part) of commit `git`; `changes` is file ->
    (text there, text instead).
    """
    _, old, *tags = wheel.name.split("-")
    path = folder / "-".join([wheel.name.split("-")[0], version, *tags])
    info = (f"torch-{old}.dist-info/", f"torch-{version}.dist-info/")
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(path, "w") as target:
        texts = {name: source.read(name).decode() for name in changes}
        for name, (before, after) in changes.items():
            assert texts[name].count(before) == 1, f"{name} has not one {before!r}"
            texts[name] = texts[name].replace(before, after)
        about = source.read("torch/version.py").decode().replace(repr(old), repr(version))
        texts["torch/version.py"] = re.sub(r"git_version = '\w+'", f"git_version = {git!r}", about)
        metadata = source.read(f"{info[0]}METADATA").decode()
        texts[f"{info[0]}METADATA"] = metadata.replace(
            f"\nVersion: {old}\n", f"\nVersion: {version}\n", 1
        )
        texts[f"{info[0]}RECORD"] = _record(source.read(f"{info[0]}RECORD").decode(), info, texts)
        for item in source.infolist():
            name = item.filename.replace(*info)
            if item.filename in texts:
                target.writestr(name, texts[item.filename])
            elif name != item.filename:
                target.writestr(name, source.read(item))
            else:
                _copy(source, item, target)
    return path


def _record(record: str, info: tuple[str, str], texts: Mapping[str, str]) -> str:
    lines = []
    for line in record.splitlines():
        name, checksum, size = line.rsplit(",", 2)
        if checksum and name in texts:
            data = texts[name].encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            checksum, size = f"sha256={digest}", str(len(data))
        lines.append(",".join([name.replace(*info), checksum, size]))
    return "\n".join(lines) + "\n"


def _copy(source: zipfile.ZipFile, item: zipfile.ZipInfo, target: zipfile.ZipFile) -> None:
    """An entry with its data as they are compressed already."""
    read, write = source.fp, target.fp
    assert read is not None and write is not None
    read.seek(item.header_offset)
    *_, names, extra = _LOCAL.unpack(read.read(_LOCAL.size))
    read.seek(names + extra, 1)
    item.header_offset, item.flag_bits, item.extra = write.tell(), item.flag_bits & ~0x08, b""
    write.write(item.FileHeader(zip64=False))
    left = item.compress_size
    while left:
        left -= write.write(read.read(min(left, 1 << 22)))
    target.filelist.append(item)
    target.NameToInfo[item.filename] = item
    target.start_dir = write.tell()  # type: ignore[attr-defined]


class _Pages(SimpleHTTPRequestHandler):
    """`/simple/torch/` lists the wheels that are listed; all of them are served."""

    hidden: set[str] = set()

    def do_GET(self) -> None:
        if not self.path.startswith("/simple"):
            return super().do_GET()
        is_torch = self.path.rstrip("/") == "/simple/torch"
        wheels = sorted(
            p.name for p in Path(self.directory).glob("*.whl") if p.name not in self.hidden
        )
        links = "".join(f'<a href="/{name.replace("+", "%2B")}">{name}</a>\n' for name in wheels)
        body = f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
        self.send_response(200 if is_torch else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """The default writes to stderr."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[str, set[str]]]:
    """The address of an index of the wheels in `folder`, and the names of those that it has stopped
    to list.
    """
    hidden: set[str] = set()
    pages = type("Pages", (_Pages,), {"hidden": hidden})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(pages, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple", hidden
    finally:
        server.shutdown()
        server.server_close()
