"""The recorder leaves the script as it is and finds the failing call: real scripts in real processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from reporter.findings import Recording
from reporter.recording import Session

torch = pytest.importorskip("torch", reason="scripts are run with this interpreter's torch")

Record = Callable[..., Recording]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Runs a script's text under the recorder in a folder of its own; backend eager or aot_eager keeps it quick."""

    def run(
        text: str, *args: str, files: dict[str, str] | None = None, module: str = ""
    ) -> Recording:
        script = tmp_path / "job" / "script.py"
        script.parent.mkdir(exist_ok=True)
        script.write_text(text)
        for name, content in (files or {}).items():
            (script.parent / name).parent.mkdir(parents=True, exist_ok=True)
            (script.parent / name).write_text(content)
        session = Session(
            Path(sys.executable),
            [module or str(script), *args],
            module=bool(module),
            cwd=script.parent if module else tmp_path,
            timeout=120,
            cache=tmp_path / "cache",
            echo=None,
            talk=lambda _: None,
        )
        return session.run()

    return run


def symptoms(recording: Recording) -> list[tuple[int, str]]:
    found = [(finding.call, finding.symptom) for finding in recording.findings]
    recording.close()
    return found


def test_the_script_sees_what_it_always_sees(record: Record, tmp_path: Path) -> None:
    text = (
        "import sys, os, __main__, pickle\n"
        "class Here: pass\n"
        "print(__name__, sys.argv[1:], os.getcwd(), os.path.basename(sys.path[0]), __main__.__file__ == __file__)\n"
        "print(type(pickle.loads(pickle.dumps(Here()))).__name__, 'torch' in sys.modules, __doc__)\n"
        "sys.exit(7)\n"
    )
    plain = tmp_path / "job" / "script.py"
    recording = record(text, "--lr", "3", "-h")
    done = subprocess.run(
        [sys.executable, str(plain), "--lr", "3", "-h"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert recording.output == done.stdout
    assert recording.exit == done.returncode == 7
    assert symptoms(recording) == []


def test_a_loss_that_needs_one_of_two_outputs_is_differentiated_as_always(record: Record) -> None:
    text = (
        "import torch\n"
        "w = torch.ones(3, requires_grad=True)\n"
        "made = torch.compile(lambda x: ((x * w).sum(), x + w), backend='aot_eager')\n"
        "loss, other = made(torch.ones(3))\n"
        "loss.backward()\n"
        "print(w.grad.tolist())\n"
    )
    recording = record(text)
    assert recording.output == "[1.0, 1.0, 1.0]\n"
    assert recording.exit == 0
    assert symptoms(recording) == []


@pytest.mark.parametrize("module", ["", "script"])
def test_the_leak_check_hears_of_every_module_of_the_users(
    module: str, record: Record, tmp_path: Path
) -> None:
    text = (
        "import torch\nfrom own.tools import scaled\n"
        "def backend(gm, inputs):\n    raise RuntimeError\n"
        "torch.compile(scaled, backend=backend)(torch.ones(3))\n"
    )
    files = {"own/__init__.py": "", "own/tools.py": "def scaled(x):\n    return x * 3\n"}
    recording = record(text, files=files, module=module)
    answer = recording.findings[0].lab.request({"op": "environment"}, 60)
    recording.close()
    names = {str(Path(path).relative_to(tmp_path)) for path in answer["files"]}
    assert names == {"job/script.py", "job/own/__init__.py", "job/own/tools.py"}


def test_the_scripts_own_modules_win_over_ours(record: Record) -> None:
    names = ("reporter", "templates", "collectors", "anonymizer")
    files = {f"{name}.py": f"value = 'own {name}'\n" for name in names}
    text = "".join(f"import {name}\nprint({name}.value)\n" for name in names)
    recording = record(text, files=files)
    assert recording.output.split("\n")[:4] == [f"own {name}" for name in names]
    recording.close()


def test_a_module_runs_as_with_dash_m(record: Record) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/train.py": "import sys\nprint(__name__, __package__, sys.argv[1:])\n",
    }
    recording = record("", "x", files=files, module="pkg.train")
    assert recording.output.strip() == "__main__ pkg ['x']"
    recording.close()


BACKEND = (
    "import torch\n"
    "def wrong(gm, example_inputs):\n"
    "    return lambda *args: tuple(o + 1 if isinstance(o, torch.Tensor) else o for o in gm.forward(*args))\n"
    "def crash(gm, example_inputs):\n"
    "    raise ValueError('no such kernel')\n"
)

WAYS = {
    "function": "f = torch.compile(lambda x: x * 2, backend=wrong)\nf(torch.ones(3))\n",
    "decorator": "@torch.compile(backend=wrong)\ndef f(x):\n    return x * 2\nf(torch.ones(3))\n",
    "module": "m = torch.compile(torch.nn.Linear(3, 3), backend=wrong)\nm(torch.ones(2, 3))\n",
    "Module.compile": "class M(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\nm = M()\nm.compile(backend=wrong)\nm(torch.ones(2, 3))\n",
    "dynamo.optimize": "import torch._dynamo\nf = torch._dynamo.optimize(wrong)(lambda x: x * 2)\nf(torch.ones(3))\n",
    "no_grad": "m = torch.compile(torch.nn.Linear(3, 3), backend=wrong)\nwith torch.no_grad():\n    m(torch.ones(2, 3))\n",
    "swallowed": "f = torch.compile(lambda x: x * 2, backend=wrong)\ntry:\n    assert f(torch.ones(3))[0] == 2\nexcept AssertionError:\n    pass\n",
}


@pytest.mark.parametrize("way", WAYS)
def test_a_wrong_value_is_found_however_it_was_compiled(way: str, record: Record) -> None:
    assert symptoms(record(BACKEND + WAYS[way])) == [(0, "differs")]


def test_a_crash_is_found_where_it_is_raised_even_if_the_script_catches_it(record: Record) -> None:
    text = BACKEND + (
        "good = torch.compile(lambda x: x + 1, backend='eager')\n"
        "bad = torch.compile(lambda x: x * 2, backend=crash)\n"
        "good(torch.ones(2))\n"
        "try:\n    bad(torch.ones(2))\nexcept Exception as error:\n    print('caught', type(error).__name__)\n"
    )
    recording = record(text)
    assert recording.exit == 0 and "caught" in recording.output
    assert [f.failure["exception"] for f in recording.findings if f.failure] == ["ValueError"]
    assert symptoms(recording) == [(1, "raised")]


def test_a_call_that_fails_in_eager_too_is_no_finding(record: Record) -> None:
    text = "import torch\nf = torch.compile(lambda x: x @ x, backend='eager')\ntry:\n    f(torch.ones(2, 3))\nexcept Exception:\n    pass\n"
    assert symptoms(record(text)) == []


def test_the_wrong_call_of_several_shapes_is_named(record: Record) -> None:
    text = BACKEND + (
        "def late(gm, example_inputs):\n"
        "    return lambda *args: [o + (args[0].size(0) == 5) for o in gm.forward(*args)]\n"
        "f = torch.compile(lambda x: x * 2, backend=late, dynamic=False)\n"
        "for n in (3, 4, 5):\n    f(torch.ones(n))\n"
    )
    assert symptoms(record(text)) == [(2, "differs")]


def test_gradients_that_flow_in_the_scripts_own_loss_are_compared(record: Record) -> None:
    text = (
        "import torch\n"
        "from torch._dynamo.backends.common import aot_autograd\n"
        "def twice(gm, inputs):\n    return lambda *args: [o * 2 if isinstance(o, torch.Tensor) else o for o in gm.forward(*args)]\n"
        "backend = aot_autograd(fw_compiler=lambda gm, inputs: gm.forward, bw_compiler=twice)\n"
        "x = torch.ones(3, requires_grad=True)\n"
        "y = torch.compile(torch.sin, backend=backend)(x)\n"
        "(y.cos() * 3).sum().backward()\n"
    )
    assert symptoms(record(text)) == [(0, "gradient")]


def test_random_state_and_mutated_arguments_are_the_scripts_own(
    record: Record, tmp_path: Path
) -> None:
    text = (
        "import torch\ntorch.manual_seed(3)\n"
        "state = torch.zeros(2)\n"
        "def step(x):\n    state.add_(1)\n    return x + torch.rand(2)\n"
        "f = torch.compile(step, backend='eager')\n"
        "print(f(torch.ones(2)).tolist(), f(torch.ones(2)).tolist(), state.tolist(), torch.rand(1).item())\n"
    )
    recording = record(text)
    script = tmp_path / "job" / "script.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert recording.output == done.stdout
    assert symptoms(recording) == []


def test_a_death_in_the_compiled_call_leaves_its_standby(record: Record) -> None:
    text = (
        "import torch, os\n"
        "def deadly(gm, example_inputs):\n    return lambda *args: os.abort()\n"
        "torch.compile(lambda x: x * 2, backend=deadly)(torch.ones(3))\n"
    )
    recording = record(text)
    assert [f.signal for f in recording.findings] == ["SIGABRT"]
    assert symptoms(recording) == [(0, "died")]


def test_no_process_outlives_a_recording(record: Record) -> None:
    recording = record(BACKEND + WAYS["function"])
    pids = [lab.pid for lab in recording.labs]  # type: ignore[attr-defined]
    recording.close()
    import time

    for pid in pids:
        for _ in range(100):
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                break
            time.sleep(0.05)
        else:
            raise AssertionError(f"standby {pid} lives on")


OUTPUTS = {
    "10 MB": ("import sys\nsys.stdout.write('x' * 10_000_000)\n", 0),
    "binary": ("import sys\nsys.stdout.buffer.write(bytes(range(256)) * 10)\n", 0),
    "waits on stdin": ("input('your name? ')\n", 1),
    "fork": ("import os\npid = os.fork()\nif pid == 0:\n    os._exit(3)\nos.waitpid(pid, 0)\n", 0),
}


@pytest.mark.parametrize("kind", OUTPUTS)
def test_unusual_scripts_end_as_they_do_alone(kind: str, record: Record) -> None:
    text, code = OUTPUTS[kind]
    recording = record(text)
    assert recording.exit == code
    assert symptoms(recording) == []


def test_a_socket_is_seen_only_once_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What waits for the file would be refused between its making and the first listening."""
    seen_before: list[list[str]] = []

    class Watched(socket.socket):
        def listen(self, backlog: int = 0) -> None:
            seen_before.append([path.name for path in session.recording.folder.iterdir()])
            super().listen(backlog)

    monkeypatch.setattr(socket, "socket", Watched)
    session = Session(
        Path(sys.executable),
        ["-c", "pass"],
        module=False,
        cwd=tmp_path,
        timeout=60.0,
        cache=tmp_path / "cache",
        echo=None,
        talk=lambda _: None,
    )
    with session._listen():
        assert (session.recording.folder / "s").is_socket()
        assert len(seen_before) == 1 and "s" not in seen_before[0]
    session.recording.close()
