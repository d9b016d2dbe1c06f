"""`anonymize` as a user runs it: the whole model, proved, failing as before, with what it needs beside stock layers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.created import SCRIPTS, Created, bugreport, check_report

torch = pytest.importorskip("torch", reason="the user's interpreter needs torch")

SECRETS: dict[str, list[str]] = json.loads((SCRIPTS / "secrets.json").read_text())


def anonymize(text: str, folder: Path, python: Path = Path(sys.executable)) -> Created:
    (folder / "script.py").write_text(text)
    done = bugreport(
        "anonymize", "--json", "--no-input", "--python", python, "-o", folder / "report",
        folder / "script.py", cwd=folder,
    )  # fmt: skip
    return Created(done.returncode, json.loads(done.stdout), done.stderr, folder / "report")


def check_proved(created: Created) -> None:
    proof = created.document["equivalence"]
    assert proof["proved"] and proof["operators"]["same"]
    assert {proof[name]["how"] for name in ("outputs", "gradients", "buffers")} == {"bitwise"}


@pytest.mark.slow
def test_a_decoder_with_a_bias_of_its_own(tmp_path: Path) -> None:
    created = anonymize((SCRIPTS / "stale_offset_backend.py").read_text(), tmp_path)
    check_report(created)
    check_proved(created)
    assert created.document["verdict"]["kind"] == "stale_graph"
    different = created.document["differs_from_stock"]
    assert different["skeleton"] == "passes"
    assert len(different["ingredients"]) == 1
    words = different["ingredients"][0]
    assert (
        "built from a buffer and `arange` with a symbolic size, added to the attention scores"
        in words
    )
    assert words.split(" (")[0] in (created.folder / "issue.md").read_text()
    text = re.sub(r"\s+", "", created.repro)
    assert "nn.ModuleList([Block2()for_inrange(2)])" in text and "forblock1inself.blocks1:" in text
    assert created.document["sizes_left"] == []
    _the_private_side(created, tmp_path)


def _the_private_side(created: Created, folder: Path) -> None:
    private = created.folder / "private"
    assert (private / "mapping.json").stat().st_mode & 0o777 == 0o600
    page = (private / "side_by_side.html").read_text()
    assert "class DistanceBias" in page and "class Block1" in page
    (folder / "answer.txt").write_text("Block1 and blocks1.0.linear1 look odd\n")
    done = bugreport("deanonymize", created.folder, folder / "answer.txt", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "DistanceBias and 0.qkv look odd\n"


CRASH = '''
import torch
from torch import nn


class {name}(nn.Module):
    """{name} of the {canary} programme."""

    def __init__(self, {canary}_width=48, note="{canary} note"):
        super().__init__()
        self.{canary}_in = nn.Linear({canary}_width, {canary}_width)
        self.note = note

    def forward(self, {canary}_x, *, {canary}_flag=True):
        assert {canary}_flag, f"{canary} wants {{{canary}_flag}}"
        {canary}_y = self.{canary}_in({canary}_x).relu()  # {canary} comment
        return {{"{canary}_key": {canary}_y * {number}}}


def {canary}_backend(gm, inputs):
    for node in gm.graph.nodes:
        if node.op == "call_method" and node.target == "relu":
            raise RuntimeError("relu is not supported here")
    return gm.forward


{canary}_model = {name}().eval()
torch.compile({canary}_model, backend={canary}_backend)(torch.randn(3, 48))
'''


@pytest.mark.parametrize(
    "name, canary, number",
    [
        ("Linear", "zyxgrot", 161.8033),  # named like a stock layer
        pytest.param("Überblock", "größe", 2.0, marks=pytest.mark.slow),
        pytest.param("Q", "qwopfj", 0.037219, marks=pytest.mark.slow),
    ],
)
def test_no_word_of_the_program_gets_out(
    name: str, canary: str, number: float, tmp_path: Path
) -> None:
    """Canaries in class, argument, attribute, string, f-string, docstring, comment, key and backend names, and a number."""
    created = anonymize(CRASH.format(name=name, canary=canary, number=number), tmp_path)
    assert created.code == 0, created.talk
    check_proved(created)
    for file, text in created.outgoing().items():
        assert canary not in text and (len(name) < 3 or name == "Linear" or name not in text), file
        assert number == 2.0 or str(number) not in text, file


@pytest.mark.slow
def test_a_number_that_the_failure_needs_stays_here_with_all_the_rest(tmp_path: Path) -> None:
    script = CRASH.format(name="Q", canary="qwopfj", number=161.8033).replace(
        'node.op == "call_method" and node.target == "relu"',
        "any(isinstance(a, float) and int(10 * a) == 1618 for a in node.args)",
    )
    created = anonymize(script, tmp_path)
    assert created.code == 5, created.talk
    assert "161.8" not in created.talk and not (created.folder / "issue.md").exists()


LARGE_WEIGHTS = """
import torch
from torch import nn

def timid(gm, inputs):
    # right as long as nothing gets large
    for node in list(gm.graph.nodes):
        if node.op == "call_function" and node.target is torch.exp:
            with gm.graph.inserting_before(node):
                bounded = gm.graph.call_function(torch.clamp, (node.args[0], None, 6.0))
            node.replace_input_with(node.args[0], bounded)
    gm.recompile()
    return gm.forward

class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.lower, self.upper = nn.Linear(24, 24), nn.Linear(24, 24)
    def forward(self, x):
        return torch.exp(self.upper(self.lower(x).tanh()))

torch.manual_seed(0)
tower = Tower().eval()
with torch.no_grad():
    for weight in tower.parameters():
        weight.normal_(std=2.0)
x = torch.randn(5, 24)
with torch.no_grad():
    torch.testing.assert_close(torch.compile(tower, backend=timid)(x), tower(x))
"""


@pytest.mark.slow
def test_weights_are_made_as_large_as_the_failure_needs_them(tmp_path: Path) -> None:
    created = anonymize(LARGE_WEIGHTS, tmp_path)
    check_report(created)
    check_proved(created)
    assert "for weight in self.parameters():" in created.repro
    assert "nn.init.normal_(weight, std=2.0)" in created.repro or "std=3.0" in created.repro


OWN_GRADIENT = """
import torch
from torch import nn
IMPORT

class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return torch.from_numpy(g.detach().numpy() * 3)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
    def forward(self, x):
        return Own.apply(self.layer(x)).relu()

def backend(gm, inputs):
    raise RuntimeError("nothing is supported here")

torch.compile(Model(), backend=backend)(torch.randn(3, 4))
"""


@pytest.mark.slow
def test_what_no_trace_shows_leaves_as_source(tmp_path: Path) -> None:
    """The gradient is computed where no trace looks, so the trace is another model; its source is the same."""
    created = anonymize(OWN_GRADIENT.replace("IMPORT", ""), tmp_path)
    assert created.code == 0, created.talk
    check_proved(created)
    assert created.document["equivalence"]["rewritten_from"] == "source"
    assert "torch.from_numpy(arg1.detach().numpy() * 3)" in created.repro.replace("arg2", "arg1")


def test_a_model_that_cannot_be_made_public_says_why(tmp_path: Path) -> None:
    script = OWN_GRADIENT.replace("IMPORT", "import numpy")
    script = script.replace("g.detach().numpy() * 3", "numpy.multiply(g.detach().numpy(), 3)")
    created = anonymize(script, tmp_path)
    assert created.code == 125
    assert "not equivalent" in created.talk and "torch.autograd.Function" in created.talk
    assert not (created.folder / "issue.md").exists()


DYNAMO = """
import torch
from torch import nn

class {canary}Book:
    def __init__(self):
        self.{canary}_rules = {{"{canary}_city": 0.37219}}

class {canary}Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.{canary}_proj = nn.Linear(44, 44)
        self.book = {canary}Book()

    def forward(self, h):
        try:
            self.book.__weakref__ = None
        except AttributeError:
            h = h * self.book.{canary}_rules["{canary}_city"]
        return torch.tanh(self.{canary}_proj(h)) + h

class {canary}Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(301, 44)
        self.gates = nn.ModuleList({canary}Gate() for _ in range(3))

    def forward(self, {canary}_ids):
        h = self.embed({canary}_ids)
        for gate in self.gates:
            h = gate(h)
        return h

torch.compile({canary}Net())(torch.randint(0, 301, (2, 11)))
"""


@pytest.mark.slow
def test_what_dynamo_fails_on_leaves_as_source(tmp_path: Path) -> None:
    """The operations alone pass, so the whole program is told in Python: renamed, with numbers that are nobody's."""
    created = anonymize(DYNAMO.format(canary="Zorb"), tmp_path)
    check_report(created, secrets=["Zorb", "0.37219"])
    check_proved(created)
    assert created.document["verdict"]["layer"] == "dynamo"
    assert created.document["differs_from_stock"]["skeleton"] == "passes"
    assert "__weakref__" in created.document["differs_from_stock"]["ingredients"][0]
    assert "nn.ModuleList([Block1() for _ in range(3)])" in created.repro
    assert not re.search(r"\b(301|44|11)\b", created.repro)
    (tmp_path / "answer.txt").write_text("Block1 and Thing1\n")
    done = bugreport("deanonymize", created.folder, tmp_path / "answer.txt", cwd=tmp_path)
    assert done.stdout == "ZorbGate and ZorbBook\n"
    assert "class ZorbGate" in (created.folder / "private" / "side_by_side.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["large_seq2seq_alibi", "large_diffusion_block"])
def test_a_large_private_model(name: str, tmp_path: Path) -> None:
    created = anonymize((SCRIPTS / f"{name}.py").read_text(), tmp_path)
    check_report(created, secrets=SECRETS[name])
    check_proved(created)
    if name == "large_diffusion_block":
        # three times a width of 8, which only happens to be twice a width of 12
        assert created.document["sizes_left"] == [24]
    for file, text in created.outgoing().items():
        for secret in SECRETS[name]:
            assert secret not in text, (file, secret)


@pytest.mark.releases
@pytest.mark.parametrize(
    ("env", "name"),
    [
        ("v20", "large_seq2seq_alibi"),
        ("v26", "stale_offset_backend"),
        ("v215", "stale_offset_backend"),
    ],
)
def test_other_releases(
    env: str, name: str, tmp_path: Path, release_python: Callable[[str], Path]
) -> None:
    python = release_python(env)
    created = anonymize((SCRIPTS / f"{name}.py").read_text(), tmp_path, python)
    check_report(created, python, SECRETS.get(name))
    check_proved(created)


def test_help_names_the_commands() -> None:
    done: Any = subprocess.run(
        [sys.executable, "-m", "reporter", "--help"], capture_output=True, text=True
    )
    assert "anonymize" in done.stdout and "deanonymize" in done.stdout
