"""One file, opened by many commands at once: SQLite in WAL mode, short transactions, a schema that
only ever grows.

The schema is a list of scripts; a database remembers how many of them it has seen (`PRAGMA
user_version`). Writers take the lock at the beginning of a transaction, so two processes that
decide on what they read (file this report, or not) cannot both decide the same.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import platformdirs

from reporter.core.errors import UsageError
from reporter.store.locks import lock, name_lock_file, require_locks

# Where the store is, for tests and for teams that keep one per project.
_STORE_VARIABLE = "BUGREPORT_STORE"
_PATIENCE = 30.0  # seconds that a writer waits for another
_MAGIC = b"SQLite format 3\0"
#: What SQLite says of a file that is cut or overwritten.
_DAMAGE = ("malformed", "not a database")

# Appended to, never edited. Times are UTC in ISO 8601, durations are seconds, `key` is that of the
# issue's marker.
_SCHEMA = (
    """
    CREATE TABLE reports (
        key TEXT PRIMARY KEY, created TEXT NOT NULL, folder TEXT NOT NULL, title TEXT NOT NULL, kind
        TEXT NOT NULL,
        layer TEXT NOT NULL, signature TEXT NOT NULL, fingerprint TEXT NOT NULL, torch TEXT NOT
        NULL, repro TEXT NOT NULL
    );
    CREATE INDEX reports_fingerprint ON reports (fingerprint);
    CREATE TABLE filings (
        key TEXT NOT NULL, repository TEXT NOT NULL, state TEXT NOT NULL, number INTEGER, url TEXT,
        detail TEXT NOT NULL,
        updated TEXT NOT NULL, PRIMARY KEY (key, repository)
    );
    CREATE TABLE checks (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL, time TEXT NOT NULL, repro TEXT NOT NULL, key TEXT
        NOT NULL,
        release TEXT NOT NULL, torch TEXT NOT NULL, python TEXT NOT NULL, outcome TEXT NOT NULL,
        detail TEXT NOT NULL,
        seconds REAL NOT NULL, UNIQUE (run, key, release)
    );
    CREATE INDEX checks_key ON checks (key, release, time);
    """,
    # A run of checks is gone on with until it is finished; `hits` of `runs` showed the outcome;
    # `shown` is a signature in JSON. `offers` are builds that an index once listed; `comments` is
    # what was last said about a report
    # and a release.
    """
    CREATE TABLE runs (run TEXT PRIMARY KEY, plan TEXT NOT NULL, kind TEXT NOT NULL, started TEXT
    NOT NULL, finished TEXT);
    CREATE INDEX runs_plan ON runs (plan, finished);
    ALTER TABLE checks ADD COLUMN hits INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE checks ADD COLUMN runs INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE checks ADD COLUMN build TEXT NOT NULL DEFAULT '';
    ALTER TABLE checks ADD COLUMN git TEXT;
    ALTER TABLE checks ADD COLUMN shown TEXT;
    CREATE TABLE offers (
        place TEXT NOT NULL, version TEXT NOT NULL, pythons TEXT NOT NULL, url TEXT NOT NULL,
        PRIMARY KEY (place, version)
    );
    CREATE TABLE comments (
        key TEXT NOT NULL, repository TEXT NOT NULL, release TEXT NOT NULL, outcome TEXT NOT NULL,
        time TEXT NOT NULL,
        PRIMARY KEY (key, repository)
    );
    """,
    """
    CREATE TABLE filing_history (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL, repository TEXT NOT NULL, time TEXT NOT NULL,
        state TEXT NOT NULL,
        detail TEXT NOT NULL
    );
    CREATE INDEX filing_history_key ON filing_history (key, repository);
    CREATE TABLE issues (
        repository TEXT NOT NULL, number INTEGER NOT NULL, title TEXT NOT NULL, state TEXT NOT NULL,
        reason TEXT NOT NULL,
        labels TEXT NOT NULL, synced TEXT NOT NULL, PRIMARY KEY (repository, number)
    );
    """,
    """
    CREATE TABLE triages (
        issue TEXT NOT NULL, places TEXT NOT NULL, changed TEXT NOT NULL, time TEXT NOT NULL, status
        TEXT NOT NULL,
        title TEXT NOT NULL, document TEXT NOT NULL, PRIMARY KEY (issue, places)
    )
    """,
    # `issue` is where the program of a check was taken from; `said` counts the changes of state
    # that its issue was told.
    """
    ALTER TABLE checks ADD COLUMN issue TEXT NOT NULL DEFAULT '';
    ALTER TABLE comments ADD COLUMN said INTEGER NOT NULL DEFAULT 0;
    """,
)


def find_store_path() -> Path:
    """The file: `BUGREPORT_STORE`, else `store.sqlite3` in the user's data folder."""
    given = os.environ.get(_STORE_VARIABLE)
    return Path(given).expanduser() if given else _find_usual_path()


def _find_usual_path() -> Path:
    return platformdirs.user_data_path("bugreport", appauthor=False) / "store.sqlite3"


def format_now() -> str:
    """This moment as the store writes it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


@contextlib.contextmanager
def open_store(path: Path | None = None) -> Iterator[sqlite3.Connection]:
    """The store, created or brought up to date; in autocommit, rows by name.

    `open_transaction` groups what belongs together.

    Raises:
        UsageError: the file cannot be opened, locked or written, holds something else, is damaged
            (and has been renamed), or is of a newer version of the tool.
    """
    path = path or find_store_path()
    try:
        connection = _connect(path)
    except (OSError, sqlite3.Error) as error:
        raise _explain_unusable(path, error) from error
    try:
        connection.row_factory = sqlite3.Row
        try:
            _write_ahead(connection)
            # a filing that was sent must not be forgotten
            connection.execute("PRAGMA synchronous = FULL")
            _upgrade(connection, path)
            with contextlib.suppress(OSError):
                os.chmod(path, 0o600)
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        if any(words in str(error) for words in _DAMAGE) and _is_ours(path):
            raise _set_aside(path, error) from error
        raise _explain_unusable(path, error) from error


def _connect(path: Path) -> sqlite3.Connection:
    """The store, in a folder that is made if need be.

    Raises:
        OSError, sqlite3.Error: it cannot be opened.
        UsageError: files beside it cannot be locked.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    require_locks(name_lock_file(path, "use"))  # SQLite would wait, and then call the file locked
    return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)


def _is_ours(path: Path) -> bool:
    """Whether a file that is no usable database was a store: it lies where only a store does, or
    begins like one.
    """
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return path == _find_usual_path() or file.read(len(_MAGIC)) == _MAGIC
    return False


def _set_aside(path: Path, error: Exception) -> UsageError:
    """Renames a damaged store, so that the next command begins a new one.

    This command ends: what it was about to do, such as filing a report, may hang on what the store
    knew.
    """
    with lock([name_lock_file(path, "damaged")], lambda: None):
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as other:
            if other.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok":
                return UsageError(f"the store {path} was damaged and is new now; run this again")
        kept = path.with_name(f"{path.name}.damaged-{datetime.now():%Y%m%dT%H%M%S}")
        try:
            # a new store must not get what belongs to the damaged one, nor lose its own
            for suffix in ("-wal", "-shm", ""):
                with contextlib.suppress(FileNotFoundError):
                    os.rename(f"{path}{suffix}", f"{kept}{suffix}")
        except OSError as refused:
            return _explain_unusable(path, refused)
    return UsageError(
        f"the store {path} is damaged ({error}); it is kept as {kept.name} beside it, and the next"
        " command begins a new one"
    )


@contextlib.contextmanager
def open_transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing, with the writers' lock from the start."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        # a full disk may have ended the transaction already
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turns WAL on.

    Whoever does so needs the file for a moment alone, and SQLite does not wait for that by itself.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.02)


def _upgrade(connection: sqlite3.Connection, path: Path) -> None:
    if _read_version(connection) == len(_SCHEMA):
        return
    with open_transaction(connection):
        seen = _read_version(connection)
        if seen > len(_SCHEMA):
            raise UsageError(
                f"{path} was written by a newer bugreport; update this one, or set"
                f" {_STORE_VARIABLE} to another file"
            )
        for script in _SCHEMA[seen:]:
            for statement in script.split(";"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(_SCHEMA)}")


def _read_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _explain_unusable(path: Path, error: Exception) -> UsageError:
    return UsageError(
        f"the store {path} cannot be used: {error}; make room, or set {_STORE_VARIABLE} to another"
        " file"
    )
