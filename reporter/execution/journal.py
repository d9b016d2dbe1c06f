"""What a killed run had already learned: one line per answer, appended, never rewritten.

Only facts are written (what a candidate did), no verdicts, so that a journal stays true when the
judgment changes. A batch of lines is on disk before the next candidates are chosen. A kill can
tear the last line only; it is cut off when the journal is opened again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reporter.core.errors import UsageError

_VERSION = 1


class Journal:
    """Answers by key, kept in `path`; a context manager.

    `subject` says what the answers depend on besides the candidate (interpreter, torch version,
    environment); a journal about another subject, or of another version, is started anew.

    Raises:
        UsageError: another run has the journal open.
    """

    def __init__(self, path: Path, subject: str = "") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._entries: dict[str, Mapping[str, Any]] = {}
        self._pending: list[str] = []
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._file)
            raise UsageError(
                f"another run is using {path}; wait for it or choose another folder"
            ) from error
        except OSError:
            pass  # a disk without locks: two runs in one folder are the user's to avoid
        head = {"journal": _VERSION, "subject": subject}
        good = self._load(head)
        os.ftruncate(self._file, good)
        os.lseek(self._file, good, os.SEEK_SET)
        if good == 0:
            self._pending.append(json.dumps(head))
            self.flush()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> Mapping[str, Any] | None:
        """The answer known for `key`."""
        return self._entries.get(key)

    def put(self, key: str, answer: Mapping[str, Any]) -> None:
        """Remember an answer; it is safe on disk after the next `flush`.

        Args:
            key: what tells the question apart; a later answer to the same one counts.
            answer: data that JSON can write.
        """
        self._entries[key] = answer
        self._pending.append(json.dumps({"key": key, "answer": answer}))

    def flush(self) -> None:
        """Write what is pending and wait until the disk has it."""
        if not self._pending:
            return
        data = "".join(line + "\n" for line in self._pending).encode()
        self._pending.clear()
        while data:
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)

    def close(self) -> None:
        """Flush and let go of the file; the second call does nothing."""
        if self._file >= 0:
            self.flush()
            os.close(self._file)
            self._file = -1

    def _load(self, head: Mapping[str, Any]) -> int:
        """Read all whole lines; the number of bytes that can stay."""
        good = 0
        with os.fdopen(os.dup(self._file), "rb") as file:
            for number, line in enumerate(file):
                try:
                    entry = json.loads(line) if line.endswith(b"\n") else None
                except ValueError:
                    entry = None
                if number == 0 and entry != head:
                    return 0
                if not isinstance(entry, dict):
                    break
                if number:
                    self._entries[str(entry.get("key"))] = entry.get("answer") or {}
                good += len(line)
        return good
