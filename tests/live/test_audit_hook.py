"""What a stranger's program reaches for is told, and what ordinary programs do is not; in real
processes, all but one without torch.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from reporter.recording.session import RecordingSession
from tests.support import interpreter
from tests.support.watched import session

REACHES = [
    ("import sys; sys._getframe()", "frames of other functions"),
    ("import inspect; inspect.currentframe().f_back", "frames of other functions"),
    ("try: 1 / 0\nexcept Exception as e: e.__traceback__.tb_frame", "frames of other functions"),
    ("import gc; gc.get_objects()", "objects that are not its own"),
    ("import sys; sys.settrace(lambda *a: None)", "a trace function"),
    ("import os; os.fork() or os._exit(0)", "a fork of the recorded process"),
    ("import socket; socket.socket(socket.AF_UNIX)", "a socket"),
    ("import subprocess; subprocess.run(['true'])", "another process"),
    ("import os; os.system('true')", "another process"),
    ("import ctypes; ctypes.CDLL(None)", "memory, through ctypes"),
    ("import os; os.listdir('/proc/self/fd')", "the recorder's files"),
    ("from pathlib import Path; Path('/proc/self/environ').read_bytes()", "the recorder's files"),
    (
        "import os, tempfile; [os.listdir(os.path.join(tempfile.gettempdir(), name))"
        " for name in os.listdir(tempfile.gettempdir()) if name.startswith('br-')]",
        "the recorder's files",
    ),
    ("def f(): pass\nf.__code__ = (lambda: 1).__code__", "the code of a function"),
    ("import os; compile('1', os.__file__, 'exec')", "code under the name of another file"),
    ("import os; os.kill(os.getppid(), 0)", "the signals of another process"),
    ("import json; json.dumps = lambda *a, **k: '{}'", "the recorder's function dumps"),
    (
        "import sys\n"
        "sys.modules['_bugreport_collectors.record.recorder'].Recorder._begin_call = None",
        "the recorder's function _begin_call",
    ),
    (
        "import os\n"
        "for n in range(3, 40):\n"
        '    try: os.write(n, b\'{"event": "finished"}\\n\')\n'
        "    except OSError: pass",
        "the recorder's own messages",
    ),
]
ORDINARY = """
import asyncio, collections, dataclasses, enum, functools, inspect, logging, os, tempfile
import threading, typing, warnings
Point = collections.namedtuple("Point", "x y")
class Row(typing.NamedTuple):
    a: int
@dataclasses.dataclass
class Data:
    a: int = 1
Color = enum.Enum("Color", "RED GREEN")
logging.getLogger("x").warning("a warning")
warnings.warn("another")
inspect.signature(functools.partial(print, 1))
with tempfile.TemporaryDirectory() as folder:
    open(os.path.join(folder, "file"), "w").close()
thread = threading.Thread(target=print)
thread.start()
thread.join()
asyncio.run(asyncio.sleep(0))
exec(compile("1 + 1", "<text>", "exec"))
open("/proc/cpuinfo").close()
print(Point(1, 2), Row(1), Data(), Color.RED)
"""


def guarded(text: str, folder: Path) -> RecordingSession:
    (folder / "script.py").write_text(text)
    made = session([str(folder / "script.py")], folder, python=interpreter.COLD)
    return RecordingSession(made.program, replace(made.watching, guarded=True))


@pytest.mark.parametrize(("text", "what"), REACHES)
def test_a_reach_is_told(text: str, what: str, tmp_path: Path) -> None:
    recording = guarded(text, tmp_path).run()
    assert what in recording.reached, recording.script.output
    recording.close()


#: Functions of torch that the variations of a call and the check of operators use.
USED_BELOW = ("movedim", "clamp_min")


def test_a_function_of_torch_that_comparisons_use_is_watched(tmp_path: Path) -> None:
    text = "import torch\nx = torch.compile(lambda x: x + 1)(torch.ones(2))\n"
    recording = guarded(text, tmp_path).run()
    assert recording.reached == [], recording.script.output
    recording.close()
    for name in USED_BELOW:
        recording = guarded(f"{text}torch.{name} = lambda *given: given[0]\n", tmp_path).run()
        assert recording.reached == [f"the recorder's function {name}"], recording.script.output
        recording.close()


def test_an_ordinary_program_reaches_for_nothing(tmp_path: Path) -> None:
    recording = guarded(ORDINARY, tmp_path).run()
    assert (recording.reached, recording.script.exit, recording.script.ended) == (
        [],
        0,
        0,
    ), recording.script.output
    recording.close()
