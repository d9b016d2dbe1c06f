"""Where the traceback of an error goes that nobody foresaw: to a file that only the user can read,
since it can hold private names.
"""

from __future__ import annotations

import sys
import tempfile
import traceback
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

from reporter.core import tokens
from reporter.core.version import VERSION
from reporter.execution.temporary_folder import find_shared_temporary_folder


def write_error_log(error: BaseException) -> Path | None:
    """Writes the traceback without tokens; its path, None where there is no place for it."""
    now = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    lines = [f"bugreport {VERSION}, Python {sys.version}\n"]
    lines += traceback.format_exception(type(error), error, error.__traceback__)
    for folder in _list_places():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # mkstemp gives the file mode 0600
            handle, name = tempfile.mkstemp(prefix=f"{now}-", suffix=".log", dir=folder)
            with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.writelines(map(tokens.redact, lines))
        except OSError:
            continue
        return Path(name)
    return None


def _list_places() -> Iterator[Path]:
    """The user's logs; where they cannot be written, what outlives this process in their stead."""
    import platformdirs  # needed only here, when something has gone wrong

    yield platformdirs.user_log_path("bugreport", appauthor=False)
    yield find_shared_temporary_folder()
