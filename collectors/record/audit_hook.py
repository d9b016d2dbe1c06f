"""Tells the host when a stranger's program reaches for what records it.

Python's audit hooks cannot be taken away by a program, and run before what they tell of. So the
host has been told by the time that a program holds a frame, a descriptor or an object of the
recorder's. Ordinary programs do none of this themselves; what torch and Python's own library do on
their behalf is no reach of theirs. What a program can replace without an event, functions that the
recorder or a comparison uses, is looked at with each message.

All that the hook needs is in cells of its closure: a module's names could be given another meaning.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import threading
import time
import types
from types import FrameType
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

from .. import FOLDER
from .channel import LOOK, Channel

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_SITE = re.compile(r"[/\\](?:site|dist)-packages[/\\]")
_PACKAGE = __name__.partition(".")[0]
_FRAMES_OF_OTHERS, _OBJECTS = "frames of other functions", "objects that are not its own"
_OTHER_PROCESS, _MEMORY = "another process", "memory, through ctypes"
#: What is told where the program itself does it.
_OWN: Dict[str, str] = {
    "sys._getframe": _FRAMES_OF_OTHERS,
    "sys._current_frames": _FRAMES_OF_OTHERS,
    "gc.get_objects": _OBJECTS,
    "gc.get_referrers": _OBJECTS,
    "gc.get_referents": _OBJECTS,
    "sys.settrace": "a trace function",
    "sys.setprofile": "a profile function",
    "code.__new__": "code objects of its own making",
    "os.fork": "a fork of the recorded process",
    "os.forkpty": "a fork of the recorded process",
    "socket.__new__": "a socket",
    "socket.connect": "a socket",
}
#: What is told where the program has it done by Python's own library, too.
_BY_LIBRARY: Dict[str, str] = {
    "subprocess.Popen": _OTHER_PROCESS,
    "os.system": _OTHER_PROCESS,
    "os.exec": _OTHER_PROCESS,
    "os.posix_spawn": _OTHER_PROCESS,
    "ctypes.dlopen": _MEMORY,
    "ctypes.dlsym": _MEMORY,
    "ctypes.cdata": _MEMORY,
    "ctypes.string_at": _MEMORY,
    "ctypes.call_function": _MEMORY,
}
_FRAMES = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")
_PROCESS = re.compile(r"/proc/(?:self|thread-self|\d+)/(?:fd|mem|task|environ|maps|root)")
#: Modules that hand a frame or a socket of somebody else's on to who asks.
_GO_BETWEENS = tuple(_LIBRARY + name for name in ("inspect.py", "traceback.py", "socket.py"))
#: Functions of torch that torch itself replaces: `torch/_dynamo/__init__.py`, when it is imported.
_REPLACED_BY_TORCH = {"manual_seed"}
#: Functions of Python's own that the recorder uses.
_USED_OF_PYTHON: Tuple[Tuple[Any, Tuple[str, ...]], ...] = (
    (json, ("dumps", "loads")),
    (json.JSONEncoder, ("encode", "iterencode")),
    (os, ("fork", "_exit", "write", "fstat", "getpid", "waitpid", "setsid")),
    (socket, ("socket",)),
    (sys, ("_getframe",)),
)
#: Seconds between two looks at what a program may have replaced, where nothing is sent.
_PAUSE = 0.05


def install(channel: Channel, folder: str, key: str) -> None:
    """Begins to tell the host what the program reaches for; it cannot be undone.

    Args:
        channel: its socket is written to.
        folder: the recorder's own, which the program has no business in.
        key: what the recorder's messages have, and a forged one has not.
    """
    told: Set[str] = set()
    local = threading.local()
    inside = os.path.join(os.path.realpath(folder), "")
    send, clock = socket.SocketType.sendall, time.monotonic
    replaced = _watch_functions()
    looked = [clock()]
    judge = _make_judge(inside)

    def tell(what: str) -> None:
        if what not in told:
            told.add(what)
            line = '{{"event": "reached", "what": "{}", "key": "{}"}}\n'.format(what, key)
            try:
                send(channel.connection, line.encode())
            except OSError:
                pass

    def hear(event: str, args: Tuple[Any, ...]) -> None:
        if getattr(local, "busy", False):
            return
        local.busy = True
        try:
            if event == LOOK or event in ("exec", "import") and clock() - looked[0] > _PAUSE:
                looked[0] = clock()
                name = replaced()
                if name is not None:
                    tell("the recorder's function " + name)
            what = judge(event, args)
            if what is not None:
                tell(what)
        finally:
            local.busy = False

    sys.addaudithook(hear)


def _make_judge(folder: str) -> Callable[[str, Tuple[Any, ...]], Optional[str]]:
    """What tells by an event what the program reaches for; None for what is no reach or not the
    program's. Only `hear` may call it, since frames are counted from there.
    """
    own, by_library, frames, between = dict(_OWN), dict(_BY_LIBRARY), _FRAMES, _GO_BETWEENS
    library, pid = (_LIBRARY,), os.getpid()
    is_file_of_program = _make_file_test()
    is_programs = _make_frame_test(is_file_of_program)
    is_recorders = _make_path_test(folder)

    def judge(event: str, args: Tuple[Any, ...]) -> Optional[str]:
        if event in own:
            return own[event] if is_programs(between) else None
        if event in by_library:
            return by_library[event] if is_programs(library) else None
        if event in ("os.kill", "os.killpg"):
            return None if args[0] == pid else "the signals of another process"
        if event in ("open", "os.listdir", "os.scandir"):
            is_reach = is_programs(library) and is_recorders(args[0])
            return "the recorder's files" if is_reach else None
        if event == "object.__getattr__" and args[1] in frames:
            return "frames of other functions" if is_programs(()) else None
        if event == "object.__setattr__" and args[1] == "__code__":
            return "the code of a function" if is_programs(()) else None
        if event == "compile" and isinstance(args[1], str) and is_programs(library):
            is_borrowed = not is_file_of_program(args[1])
            return "code under the name of another file" if is_borrowed else None
        return None

    return judge


def _make_file_test() -> Callable[[str], bool]:
    """Whether a file of code is the program's: neither ours, nor Python's, nor installed."""
    is_site, ours = _SITE.search, (FOLDER, _LIBRARY)

    def is_file_of_program(name: str) -> bool:
        return not (name.startswith(ours) or name.startswith("<frozen") or is_site(name))

    return is_file_of_program


def _make_frame_test(
    is_file_of_program: Callable[[str], bool],
) -> Callable[[Tuple[str, ...]], bool]:
    """Whether the program itself does what an event tells of.

    The test looks at the innermost frame, apart from those whose file begins with one of the paths
    that it is given. It belongs into the function that the hook calls: the frame of the event is
    the third above it.
    """
    get_frame, is_site = sys._getframe, _SITE.search

    def is_programs(skipped: Tuple[str, ...]) -> bool:
        frame: Optional[FrameType] = get_frame(3)
        while frame is not None and skipped:
            name = frame.f_code.co_filename
            if is_site(name) or not name.startswith(skipped):
                break
            frame = frame.f_back
        return frame is not None and is_file_of_program(frame.f_code.co_filename)

    return is_programs


def _make_path_test(folder: str) -> Callable[[object], bool]:
    """Whether a path is in the recorder's `folder`, or shows what a process holds."""
    process = _PROCESS.match
    absolute, real, sep = os.path.abspath, os.path.realpath, os.sep

    def is_recorders(path: object) -> bool:
        if isinstance(path, bytes):
            path = path.decode(errors="replace")
        if not isinstance(path, str):
            return False
        path = absolute(path)
        is_ours = real(path).startswith(folder) or path + sep == folder
        return is_ours or process(path) is not None

    return is_recorders


def _watch_functions() -> Callable[[], Optional[str]]:
    """What names a function of the recorder, or one that it and its comparisons use, that is no
    longer what it was when it was first seen; None where there is none.
    """
    known = {
        (id(owner), name): (owner, getattr(owner, name))
        for owner, names in _USED_OF_PYTHON
        for name in names
    }
    note_new, folder = _make_noter(known), FOLDER

    def is_recorders(value: Any) -> bool:
        return isinstance(value, types.FunctionType) and value.__code__.co_filename.startswith(
            folder
        )

    def find_replaced() -> Optional[str]:
        for (number, name), (owner, value) in list(known.items()):
            now = getattr(owner, name, None)
            if now is value:
                continue
            if not is_recorders(now):
                return name
            # the recorder watches torch.compile by putting its own there
            known[number, name] = owner, now
        note_new()
        return None

    find_replaced()
    return find_replaced


def _make_noter(known: Dict[Tuple[int, str], Tuple[Any, Any]]) -> Callable[[], None]:
    """What adds to `known` the functions of torch, and of modules of the recorder, that have been
    imported since its last call.

    Args:
        known: number of an owner and name -> the owner, and what it had under that name when it
            was first seen.
    """
    seen: Set[str] = set()
    modules, package, own_functions = sys.modules, _PACKAGE, _list_functions
    used = _find_used_names()

    def note_new() -> None:
        torch = modules.get("torch")
        if torch is not None and "torch" not in seen and hasattr(torch, "compile"):
            seen.add("torch")
            for owner in (torch, torch.Tensor):
                for name in used:
                    value = owner.__dict__.get(name)
                    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)):
                        known.setdefault((id(owner), name), (owner, value))
        for module in [name for name in modules if name.startswith(package) and name not in seen]:
            seen.add(module)
            for owner, name, value in own_functions(modules[module]):
                known.setdefault((id(owner), name), (owner, value))

    return note_new


def _list_functions(module: types.ModuleType) -> Iterator[Tuple[Any, str, Any]]:
    """The functions and classes of a module of ours, and the functions of those classes."""
    for name, value in list(vars(module).items()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, types.FunctionType):
            yield module, name, value
        elif isinstance(value, type):
            yield module, name, value
            for inner, function in list(vars(value).items()):
                if isinstance(function, types.FunctionType):
                    yield value, inner, function


def _find_used_names() -> List[str]:
    """Names that occur in what compares results, so that some of them are torch's functions."""
    names: Set[str] = set()
    for folder, _, files in os.walk(os.path.join(FOLDER, "call")):
        for file in files:
            if file.endswith(".py"):
                with open(os.path.join(folder, file), encoding="utf-8") as source:
                    names.update(re.findall(r"\.([a-z_]\w+)\(", source.read()))
    return sorted(names - _REPLACED_BY_TORCH)
