"""The warm interpreter: a process that has imported torch and forks itself for each program it is
asked to run.

A fork is the program from then on: its arguments, environment, folder, descriptors, `__main__` and
session. The server itself never compiles or computes anything, so no program sees another's state.
It ends with the folder it lies in.
"""

import gc
import json
import os
import selectors
import shutil
import signal
import socket
import sys
import types

_WARM = (
    "torch",
    "torch._dynamo",
    "torch._dynamo.backends.debugging",
    "torch._inductor.compile_fx",
    "torch._inductor.codegen.cpp",
    "torch._inductor.fx_passes.joint_graph",
    "torch._functorch.aot_autograd",
    "torch.distributed.tensor.experimental",
)
_FIRST_FREE = 512


def main():
    """`warm_server.py SOCKET`: serves until the socket's folder is gone."""
    path = sys.argv[1]
    del sys.path[0]
    # Inductor keeps the place of its precompiled headers from its import on, and the temporary
    # folder of whoever asked first may be gone by the second time
    os.environ["TMPDIR"] = os.path.join(os.path.dirname(path), "tmp")
    for name in _WARM:
        try:
            __import__(name)
        except ImportError:  # another release
            pass
    _warm_up(os.path.dirname(path))
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path + ".new")
    listener.listen(64)
    os.rename(path + ".new", path)
    return _serve(listener, path)


def _warm_up(folder):
    """Compiles a line, so that torch has asked the C++ compiler and the processor what they are;
    then forgets the line.

    On a thread of its own, because OpenMP's threads belong to the thread that first used them and
    no fork has them. Without gradients, because a backward pass starts threads that last. Its files
    lie apart from those of the tests.
    """
    import threading

    import torch
    import torch._inductor.config

    random = torch.get_rng_state()
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "warm-up")

    def compile_something():
        with torch._inductor.config.patch(compile_threads=1):
            torch.compile(lambda a: (a * 2).relu().sum())(torch.ones(8))

    thread = threading.Thread(target=compile_something)
    thread.start()
    thread.join()
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    # or the line's code would pass for the program's own
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(folder + os.sep + "warm-up"):
            del sys.modules[name]
    # a program may change the table of decompositions, of which this is a copy
    copied = getattr(sys.modules["torch._inductor.decomposition"], "fast_random_decomps", None)
    if hasattr(copied, "cache_clear"):
        copied.cache_clear()
    torch.set_rng_state(random)


def _serve(listener, path):
    """Answers until the folder is gone; in a fork, returns the program to be run."""
    selector = selectors.DefaultSelector()
    wake, woken = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    selector.register(listener, selectors.EVENT_READ)
    selector.register(wake, selectors.EVENT_READ)
    programs = {}  # connection -> pid
    while programs or _is_wanted(path):
        for entry, _ in selector.select(1.0):
            if entry.fileobj is wake or entry.fd == wake:
                os.read(wake, 4096)
            elif entry.fileobj is listener:
                connection, _ = listener.accept()
                try:
                    request, descriptors = _receive(connection)
                except (OSError, ValueError, EOFError):
                    connection.close()
                    continue
                sys.stdout.flush()
                pid = os.fork()
                if pid == 0:
                    signal.set_wakeup_fd(-1)
                    selector.close()
                    _become(request, descriptors, [connection, listener, *programs], [wake, woken])
                    return request
                for descriptor in descriptors:
                    os.close(descriptor)
                programs[connection] = pid
                selector.register(connection, selectors.EVENT_READ)
            else:
                _hear(entry.fileobj, programs, selector)
        _bury(programs, selector)
    return None


def _is_wanted(path):
    """Whether the tests that this serves still run; where they were killed, their folder goes."""
    try:
        with open(os.path.join(os.path.dirname(path), "pid")) as file:
            os.kill(int(file.read()), 0)
        return os.path.exists(path)
    except FileNotFoundError:
        return False
    except ProcessLookupError:
        shutil.rmtree(os.path.dirname(path), ignore_errors=True)
        return False


def _receive(connection):
    connection.settimeout(20)
    space = socket.CMSG_SPACE(4 * 250)
    start, ancillary, _, _ = connection.recvmsg(4, space)
    descriptors = []
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            for at in range(0, len(data) - 3, 4):
                descriptors.append(int.from_bytes(data[at : at + 4], sys.byteorder))
    length, text = int.from_bytes(start, "big"), b""
    while len(text) < length:
        part = connection.recv(length - len(text))
        if not part:
            raise EOFError
        text += part
    connection.settimeout(None)
    return json.loads(text), descriptors


def _hear(connection, programs, selector):
    """A signal for the program, or the end of whoever asked for it, which ends it too."""
    pid = programs.get(connection)
    try:
        data = connection.recv(64)
    except OSError:
        data = b""
    if pid is None:
        return
    if not data:
        selector.unregister(connection)
        _kill(pid)
        return
    for number in data:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def _kill(pid):
    for kill in (os.killpg, os.kill):  # just forked, it may not lead its group yet
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _bury(programs, selector):
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        for connection, program in list(programs.items()):
            if program == pid:
                del programs[connection]
                if connection in selector.get_map():
                    selector.unregister(connection)
                try:
                    connection.sendall(status.to_bytes(4, "big"))
                except OSError:
                    pass
                connection.close()


def _become(request, descriptors, sockets, pipes):
    """Turns this fork into the process that was asked for."""
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for one in sockets:
        one.close()
    for one in pipes:
        os.close(one)
    import fcntl

    high = [fcntl.fcntl(one, fcntl.F_DUPFD, _FIRST_FREE) for one in descriptors]
    for one in descriptors:
        os.close(one)
    for number, one in zip(request["numbers"], high):
        os.dup2(one, number, inheritable=True)
        os.close(one)
    os.umask(request["umask"])
    os.chdir(request["cwd"])
    for name in set(os.environ) - set(request["env"]):
        del os.environ[name]
    os.environ.update(request["env"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = None
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    sys.modules["torch"].seed()  # as a fresh process has a seed of its own
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=os.isatty(stream.fileno()) or stream is sys.stderr)


def run(argv):
    """Runs the words of a command line as Python would."""
    program = types.ModuleType("__main__")
    sys.modules["__main__"] = program
    if "__mp_main__" in sys.modules:  # multiprocessing's name for the same module
        sys.modules["__mp_main__"] = program
    program.__dict__["__builtins__"] = __builtins__
    if argv[0] == "-m":
        import runpy

        sys.argv = ["-m", *argv[2:]]
        sys.path.insert(0, os.getcwd())
        runpy._run_module_as_main(argv[1])
        return
    if argv[0] == "-c":
        sys.argv = ["-c", *argv[2:]]
        sys.path.insert(0, "")
        code = compile(argv[1], "<string>", "exec", dont_inherit=True)
    else:
        from importlib.machinery import SourceFileLoader

        sys.argv = list(argv)
        sys.path.insert(0, os.path.dirname(os.path.realpath(argv[0])))
        path = os.path.abspath(argv[0])
        program.__file__ = path
        program.__loader__ = SourceFileLoader("__main__", path)
        try:
            with open(argv[0], "rb") as source:
                text = source.read()
        except OSError as error:
            place = os.path.abspath(argv[0])
            problem = f"can't open file {place!r}: [Errno {error.errno}] {error.strerror}"
            sys.stderr.write(f"{sys.executable}: {problem}\n")
            sys.exit(2)
        code = compile(text, path, "exec", dont_inherit=True)
    exec(code, program.__dict__)


def _run_program(argv):
    """Runs it, and ends this process as Python would, without the tearing down of all modules: in a
    fork that would copy the whole memory of the server.
    """
    import atexit
    import threading

    code = _ending(argv)
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # none, closed, or nobody reads it
            pass
    os._exit(code)


def _ending(argv):
    try:
        run(argv)
    except SystemExit as ending:
        if ending.code is None or isinstance(ending.code, int):
            return (ending.code or 0) & 0xFF
        print(ending.code, file=sys.stderr)
        return 1
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        error = error.with_traceback(trace)
        sys.excepthook(type(error), error, trace)
        if isinstance(error, KeyboardInterrupt):
            sys.stdout.flush()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        return 1
    return 0


if __name__ == "__main__":
    request = main()
    if request is not None:
        _run_program(request["argv"])
