"""`anonymize` as a user runs it: the whole model, proved, failing as before, with what it needs
beside stock layers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support import interpreter
from tests.support.anonymized import anonymize, check_proved
from tests.support.created import SCRIPTS, Created, bugreport, check_report
from tests.support.scripts import text

SECRETS: dict[str, list[str]] = json.loads((SCRIPTS / "secrets.json").read_text())


@pytest.mark.slow
def test_a_decoder_is_proved_and_its_own_bias_is_named(tmp_path: Path) -> None:
    created = anonymize(text("stale_offset_backend"), tmp_path)
    check_report(created, interpreter.WARM)
    check_proved(created)
    assert created.document["verdict"]["kind"] == "stale_graph"
    different = created.document["differs_from_stock"]
    assert different["skeleton"] == "passes"
    assert len(different["needs"]) == 1
    words = different["needs"][0]
    assert (
        "built from a buffer and `arange` with a symbolic size, added to the attention scores"
        in words
    )
    assert words.split(" (")[0] in (created.folder / "issue.md").read_text()
    written = re.sub(r"\s+", "", created.repro)
    assert "nn.ModuleList([Block2()for_inrange(2)])" in written
    assert "forblock1inself.blocks1:" in written
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


@pytest.mark.parametrize(
    "name, canary, number, more",
    [
        ("Linear", "zyxgrot", 161.8033, ["--quick"]),  # named like a stock layer
        pytest.param("Linear", "zyxgrot", 161.8033, [], marks=pytest.mark.slow),
        pytest.param("Überblock", "größe", 2.0, [], marks=pytest.mark.slow),
        pytest.param("Q", "qwopfj", 0.037219, [], marks=pytest.mark.slow),
    ],
)
def test_no_word_of_the_program_gets_out(
    name: str, canary: str, number: float, more: list[str], tmp_path: Path
) -> None:
    """Canaries in class, argument, attribute, string, f-string, docstring, comment, key and backend
    names, and a number.
    """
    script = text("anonymize/crash").replace("Private", name).replace("zyxgrot", canary)
    created = anonymize(script.replace("161.8033", str(number)), tmp_path, *more)
    assert created.code == 0, created.talk
    check_proved(created)
    for file, said in created.outgoing().items():
        assert canary not in said and (len(name) < 3 or name == "Linear" or name not in said), file
        assert number == 2.0 or str(number) not in said, file


@pytest.mark.slow
def test_a_number_that_the_failure_needs_stays_here_with_all_the_rest(tmp_path: Path) -> None:
    script = text("anonymize/crash").replace(
        'node.op == "call_method" and node.target == "relu"',
        "any(isinstance(a, float) and int(10 * a) == 1618 for a in node.args)",
    )
    created = anonymize(script, tmp_path)
    assert created.code == 5, created.talk
    assert "161.8" not in created.talk and not (created.folder / "issue.md").exists()


@pytest.mark.slow
def test_weights_are_made_as_large_as_the_failure_needs_them(tmp_path: Path) -> None:
    created = anonymize(text("anonymize/large_weights"), tmp_path)
    check_report(created, interpreter.WARM)
    check_proved(created)
    assert "for weight in self.parameters():" in created.repro
    assert "nn.init.normal_(weight, std=2.0)" in created.repro or "std=3.0" in created.repro


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("own_gradient", "torch.from_numpy(arg1.detach().numpy() * 3)"),
        ("own_gradient_by_numpy", "torch.from_numpy(numpy.multiply(arg1.detach().numpy(), 3))"),
    ],
)
def test_what_no_trace_shows_leaves_as_source(name: str, kept: str, tmp_path: Path) -> None:
    """The gradient is computed where no trace looks, so the trace is another model; its source is
    the same.
    """
    created = anonymize(text(f"anonymize/{name}"), tmp_path)
    assert created.code == 0, created.talk
    check_proved(created)
    assert created.document["equivalence"]["rewritten_from"] == "source"
    assert kept in created.repro.replace("arg2", "arg1")


def test_a_model_that_cannot_be_made_public_says_why(tmp_path: Path) -> None:
    created = anonymize(text("anonymize/own_gradient_by_sympy"), tmp_path)
    assert created.code == 125
    assert "not equivalent" in created.talk and "torch.autograd.Function" in created.talk
    assert not (created.folder / "issue.md").exists()


@pytest.mark.slow
def test_gradients_of_zeros_prove_no_backward(tmp_path: Path) -> None:
    """Behind a ReLU of negative numbers any backward is the same as any other."""
    created = anonymize(text("anonymize/own_gradient_of_zeros"), tmp_path)
    assert created.code == 125
    assert "no gradient other than zero" in created.talk
    assert not (created.folder / "issue.md").exists()


@pytest.mark.slow
def test_what_dynamo_fails_on_leaves_as_source(tmp_path: Path) -> None:
    """The operations alone pass, so the whole program is told in Python: renamed, with numbers that
    are nobody's.
    """
    created = anonymize(text("anonymize/zorb_gates"), tmp_path)
    check_report(created, interpreter.WARM, ["Zorb", "0.37219"])
    check_proved(created)
    assert created.document["verdict"]["layer"] == "dynamo"
    assert created.document["differs_from_stock"]["skeleton"] == "passes"
    assert "__weakref__" in created.document["differs_from_stock"]["needs"][0]
    assert "nn.ModuleList([Block1() for _ in range(3)])" in created.repro
    assert not re.search(r"\b(301|44|11)\b", created.repro)
    (tmp_path / "answer.txt").write_text("Block1 and Thing1\n")
    done = bugreport("deanonymize", created.folder, tmp_path / "answer.txt", cwd=tmp_path)
    assert done.stdout == "ZorbGate and ZorbBook\n"
    assert "class ZorbGate" in (created.folder / "private" / "side_by_side.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["large_seq2seq_alibi", "large_diffusion_block"])
def test_a_large_private_model_is_proved_and_nothing_of_it_leaves(
    name: str, tmp_path: Path
) -> None:
    created = anonymize(text(name), tmp_path)
    check_report(created, interpreter.WARM, SECRETS[name])
    check_proved(created)
    if name == "large_diffusion_block":
        # three times a width of 8, which only happens to be twice a width of 12
        assert created.document["sizes_left"] == [24]
    for file, said in created.outgoing().items():
        for secret in SECRETS[name]:
            assert secret not in said, (file, secret)


def test_help_names_the_commands(tmp_path: Path) -> None:
    done = bugreport("--help", cwd=tmp_path)
    assert "anonymize" in done.stdout and "deanonymize" in done.stdout
