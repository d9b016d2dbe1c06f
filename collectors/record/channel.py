"""Messages between target and host: JSON lines over a Unix socket of their own, so the script's
stdio stays the script's.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any, Mapping, Optional


class Channel:
    """One connection to the host. `send` and `receive` carry one JSON object each.

    `patience`: seconds after which a host that does not answer counts as gone; None: it is waited
    for.
    """

    def __init__(self, path: str, patience: Optional[float] = None) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(patience)
        self._socket.connect(path)
        self._buffer = b""

    @classmethod
    def adopt(cls, descriptor: int) -> Channel:
        """The channel over a socket that this process was given; its own children do not get it."""
        made = cls.__new__(cls)
        made._socket = socket.socket(fileno=descriptor)
        made._socket.setblocking(True)
        made._buffer = b""
        os.set_inheritable(descriptor, False)
        return made

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, message: Mapping[str, Any]) -> None:
        """Sends one message; a vanished host is not the script's problem."""
        try:
            self._socket.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass

    def receive(self) -> Any:
        """The next message, a JSON object (see `protocol`), or None when the host is gone."""
        while b"\n" not in self._buffer:
            try:
                chunk = self._socket.recv(1 << 16)
            except OSError:
                return None
            if not chunk:
                return None
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        message = json.loads(line)
        return message if isinstance(message, dict) else None

    def pending(self) -> bool:
        """True if a whole message was read already and waits in the buffer."""
        return b"\n" in self._buffer

    def close(self) -> None:
        self._socket.close()
