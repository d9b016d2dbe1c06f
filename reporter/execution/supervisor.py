"""The process between the tool and the user's program: starts the program in a session of its own,
waits for it, and tells the tool how it ended.

A program may end its parent, which is this process and not the tool. Where the tool is gone, this
process ends the program. It is started by its path and imports nothing but built-in modules, since
it runs for as long as the program.

`python -IS supervisor.py DESCRIPTOR COMMAND…`: the descriptor is a socket of the tool. The answers
are lines: `started PID`, then `ended STATUS` with the status of `os.waitpid`.
"""

import os
import select
import signal
import sys

#: Seconds between two looks at a program whose tool is there.
_LONGEST_WAIT = 60.0


def main() -> None:
    """Runs the command to its end, or to the tool's."""
    control, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(control, False)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    pid = os.fork()
    if pid == 0:
        _become(command)
    _leave_streams()
    os.write(control, f"started {pid}\n".encode())
    while True:
        ready = select.select([control, woken], [], [], _LONGEST_WAIT)[0]
        if control in ready and not _is_there(control):
            _end(pid)
            return
        if woken in ready:
            os.read(woken, 64)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            os.write(control, f"ended {status}\n".encode())
            return


def _become(command: list[str]) -> None:
    """Replaces this process, which was just forked, by the program."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for name in ("SIGPIPE", "SIGXFSZ"):  # Python ignores them, and a program inherits that
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    finally:
        os._exit(127)


def _leave_streams() -> None:
    """Lets go of the program's streams, so that who reads them sees their end with the
    program's.
    """
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.close(null)


def _is_there(control: int) -> bool:
    """Whether the tool still has its end of the socket."""
    try:
        return bool(os.read(control, 64))
    except OSError:  # it has gone without reading all that it was told
        return False


def _end(pid: int) -> None:
    for kill in (os.killpg, os.kill):  # just forked, it may not lead its group yet
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


if __name__ == "__main__":
    main()
