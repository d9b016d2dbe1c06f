"""Builds the wheel and the sdist twice, in different folders, and compares them byte by byte.

`python tools/dist.py [FOLDER]` leaves both files and `SHA256SUMS` in FOLDER (default `dist`). What
is built is what git tracks, as it lies in the working tree. Times are those of the last commit, or
of SOURCE_DATE_EPOCH. Needs setuptools, of the version that `pyproject.toml` asks for.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BUILD = """\
import sys
from setuptools import build_meta
getattr(build_meta, "build_" + sys.argv[1])(sys.argv[2])
"""


def main() -> int:
    """Exit code 0 if both builds are the same, 1 if they are not."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "dist")
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or _read_commit_time())
    with tempfile.TemporaryDirectory(prefix="bugreport-dist-") as name:
        builds = [build(Path(name) / which, epoch) for which in ("one", "another/way/down")]
        sums = [{path.name: compute_digest(path) for path in sorted(built)} for built in builds]
        if sums[0] != sums[1]:
            names = sorted({*sums[0], *sums[1]})
            wrong = [name for name in names if sums[0].get(name) != sums[1].get(name)]
            print(f"not the same bytes twice: {', '.join(wrong)}", file=sys.stderr)
            return 1
        target.mkdir(parents=True, exist_ok=True)
        for path in builds[0]:
            shutil.copy(path, target / path.name)
    lines = [f"{value}  {name}" for name, value in sums[0].items()]
    (target / "SHA256SUMS").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    return 0


def build(folder: Path, epoch: int) -> list[Path]:
    """The sdist and the wheel of a copy of the tree in `folder`; `epoch` is the time, in seconds,
    that every file in them has.
    """
    source, made = folder / "source", folder / "made"
    made.mkdir(parents=True)
    _copy(source)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "PYTHONDONTWRITEBYTECODE": "1"}
    for what in ("sdist", "wheel"):
        command = [sys.executable, "-c", _BUILD, what, str(made)]
        done = subprocess.run(
            command, cwd=source, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(done.stderr)
    for path in made.glob("*.tar.gz"):
        path.write_bytes(normalize_archive(path.read_bytes(), epoch))
    return sorted(path for path in made.iterdir() if path.is_file())


def normalize_archive(data: bytes, epoch: int) -> bytes:
    """A `.tar.gz` with its files in order, and without who made it and when."""
    packed = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as old,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda item: item.name):
            content = old.extractfile(member) if member.isfile() else None
            executable = member.isdir() or member.mode & 0o100
            member.mode = 0o755 if executable else 0o644
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = epoch
            member.pax_headers = {}
            new.addfile(member, content)
    return gzip.compress(packed.getvalue(), compresslevel=9, mtime=epoch)


def compute_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _copy(folder: Path) -> None:
    """What git tracks, with the two modes that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, folder / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def _read_commit_time() -> str:
    done = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
