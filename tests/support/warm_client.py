"""The command line of the warm interpreter: asks its server for a fork, and ends as the fork ends.

It stands where a test gives the path of a Python interpreter, so the product starts it as it starts
any other. What a fork cannot stand for (an option of the interpreter itself) is given to the real
interpreter instead. Standard library only, and as little of it as can be: this starts with each
process of a test.
"""

import array
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import zlib

#: Read at import by Python, torch or a library below it: another value needs another server.
_AT_IMPORT = (
    "PYTHON",
    "TORCH",
    "OMP_",
    "MKL_",
    "KMP_",
    "GOMP_",
    "TRITON",
    "CUDA",
    "LD_",
    "AOT_",
    "CXX",
    "NUMEXPR",
    "PYTORCH",
    "COMPILE",
)
#: Read when they are needed, or set again in the fork.
_IN_TIME = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "PYTHONDONTWRITEBYTECODE")
#: A server costs as much as a start: one is made for an environment that has been asked for this
#: often, or by a worker of candidates, since many tests start one and each would compile torch's
#: headers first.
_WORTH_IT = 2
_START_LIMIT = 120.0


def key(environment):
    """The part of an environment that only a new process can be given, as a short name."""
    kept = {
        name: value
        for name, value in environment.items()
        if name.startswith(_AT_IMPORT) and name not in _IN_TIME
    }
    return format(zlib.crc32(json.dumps(kept, sort_keys=True).encode()), "08x")


def can_be_forked(arguments):
    """Whether the words after the interpreter's name are a program without options for Python
    itself.
    """
    return bool(arguments) and (arguments[0] in ("-c", "-m") or not arguments[0].startswith("-"))


def _is_worker(arguments):
    return arguments[0].endswith("worker_main.py") and arguments[1:2] == ["serve"]


def connect(folder, python, arguments):
    """A connection to the server for this environment, or None where the real interpreter is to be
    used.
    """
    path = os.path.join(folder, key(os.environ))
    with open(path + ".lock", "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        connection = _open(path)
        if connection is not None:
            return connection
        lock.write(".")
        lock.flush()
        if lock.tell() < _WORTH_IT and not _is_worker(arguments):
            return None
        subprocess.Popen(
            [python, os.path.join(folder, "warm_server.py"), path],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if not _is_measuring(name)},
            stdin=subprocess.DEVNULL,
            stdout=open(path + ".log", "ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        deadline = time.monotonic() + _START_LIMIT
        while time.monotonic() < deadline:
            connection = _open(path)
            if connection is not None:
                return connection
            time.sleep(0.05)
    return None


def _is_measuring(name):
    """A server outlives the run that measures its coverage, so it takes no part in it."""
    return name.startswith("COVERAGE_")


def _open(path):
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
        return connection
    except OSError:
        connection.close()
        return None


def ask(connection, arguments):
    """Sends the request with every descriptor that this process was given."""
    numbers = []
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number != connection.fileno() and _is_open(number):
            if number < 3 or os.get_inheritable(number):
                numbers.append(number)
    umask = os.umask(0)
    os.umask(umask)
    request = {
        "argv": arguments,
        "cwd": os.getcwd(),
        "env": dict(os.environ),
        "numbers": numbers,
        "umask": umask,
    }
    text = json.dumps(request).encode()
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", numbers))]
    connection.sendmsg([len(text).to_bytes(4, "big")], ancillary)
    connection.sendall(text)


def _is_open(number):
    try:
        os.fstat(number)
        return True
    except OSError:
        return False


def catch_signals():
    """A descriptor from which the numbers of the signals that reach this process are read.

    A handler of Python would not do: it runs between two instructions of Python, and a signal that
    comes just before a call that waits would be heard when that call returns.
    """
    caught, written = os.pipe()
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    return caught


def wait(connection, caught):
    """The wait status of the fork; signals that reach this process are handed to it."""
    for number in range(3):
        os.close(number)  # whoever reads them sees their end when the fork is gone
    answer = b""
    while len(answer) < 4:
        ready, _, _ = select.select([connection, caught], [], [])
        if caught in ready:
            connection.sendall(os.read(caught, 64))
        if connection in ready:
            part = connection.recv(4 - len(answer))
            if not part:
                os._exit(70)
            answer += part
    return int.from_bytes(answer, "big")


def main(python, folder):
    """Runs the words of the command line in a fork of a warm process, or in `python` itself."""
    arguments = sys.argv[1:]
    connection = connect(folder, python, arguments) if can_be_forked(arguments) else None
    if connection is None:
        os.execv(python, [python] + arguments)
    caught = catch_signals()  # before the fork may tell anyone that it runs
    ask(connection, arguments)
    status = wait(connection, caught)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))
