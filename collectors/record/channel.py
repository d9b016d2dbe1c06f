"""Messages between target and host: JSON lines over a Unix socket of their own, so the script's
stdio stays the script's.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from typing import Any, Mapping, Optional, Tuple

#: The audit event before each message of a guarded process.
LOOK = "bugreport.message"


class Channel:
    """One connection to the host. `send` and `receive` carry one JSON object each.

    `patience`: seconds after which a host that does not answer counts as gone; None: it is waited
    for.
    """

    #: Stands in each message of this process and its forks; empty: none is asked for.
    key = ""

    def __init__(self, path: str, patience: Optional[float] = None) -> None:
        self._path, self._patience = path, patience
        self.connect()

    def connect(self) -> None:
        """Connects, or connects again.

        Raises:
            OSError: the host does not listen any more.
        """
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.connection.settimeout(self._patience)
        self.connection.connect(self._path)
        self._buffer = b""
        self._identity = _identify(self.connection.fileno())

    def _is_cut(self) -> bool:
        """Whether the program has closed the descriptor under the socket, or has put another in
        its place.
        """
        return _identify(self.connection.fileno()) != self._identity

    def reconnect(self) -> bool:
        """Connects again where the program has cut the connection; whether that was so.

        What has the descriptor's number by now is the program's, and stays open.
        """
        if not self._is_cut():
            return False
        self.connection.detach()
        try:
            self.connect()
        except OSError:  # the host has gone, too
            return False
        return True

    @classmethod
    def adopt(cls, descriptor: int) -> Channel:
        """The channel over a socket that this process was given; its own children do not get it."""
        made = cls.__new__(cls)
        made.connection = socket.socket(fileno=descriptor)
        made.connection.setblocking(True)
        made._buffer = b""
        made._identity = _identify(descriptor)
        os.set_inheritable(descriptor, False)
        return made

    def fileno(self) -> int:
        """The descriptor of its socket, for `select`."""
        return self.connection.fileno()

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends one message; a vanished host is not the script's problem."""
        if self._is_cut():
            return
        if self.key:
            sys.audit(LOOK)  # see `audit_hook`
        try:
            keyed = {**message, "key": self.key} if self.key else message
            self.connection.sendall(json.dumps(keyed).encode() + b"\n")
        except OSError:
            pass

    def receive(self) -> Any:
        """The next message, a JSON object (see `protocol`), or None when the host is gone."""
        while b"\n" not in self._buffer:
            try:
                chunk = self.connection.recv(1 << 16)
            except OSError:
                return None
            if not chunk:
                return None
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        message = json.loads(line)
        return message if isinstance(message, dict) else None

    def has_pending(self) -> bool:
        """True if a whole message was read already and waits in the buffer."""
        return b"\n" in self._buffer

    def close(self) -> None:
        """Ends the connection; the host reads its end."""
        self.connection.close()


def _identify(descriptor: int) -> Optional[Tuple[int, int]]:
    """What a descriptor stands for; None if nothing."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino
