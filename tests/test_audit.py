"""The leak check must hold back what is private and let an honest report pass: both halves, on real programs."""

from __future__ import annotations

import json

import pytest

from anonymizer.audit import (
    Audit,
    Finding,
    House,
    Identity,
    Terms,
    audit,
    private_terms,
    terms_checked,
)
from anonymizer.vocabulary import is_canonical_einsum, is_common, subwords
from reporter.errors import LeakError
from reporter.outgoing import check_outgoing, refuse_leaks
from tests import outgoing_data as data

PRIVATE = ("private_diffusion", "private_seq2seq")
NOBODY = Identity()
SOMEBODY = Identity("/home/jdoe77", "jdoe77", "tycho-gpu3.lab.example")


def terms_of(source: str, *extra: str, path: str = "script.py") -> Terms:
    return private_terms({path: source}, data.torch_vocabulary(), extra)


def run(files: dict[str, str], terms: Terms, who: Identity = NOBODY) -> Audit:
    return check_outgoing(files, terms, internals=data.INTERNALS, identity=who, allowed=[data.GIT])


@pytest.mark.parametrize("honest", [data.CRASH, data.GRADIENT])
@pytest.mark.parametrize("private", PRIVATE)
def test_honest_report_passes(private: str, honest: str) -> None:
    result = run(data.honest_files(honest), terms_of(data.text(private)), SOMEBODY)
    assert result.findings == ()
    assert result.passed
    assert result.terms_checked > 150


@pytest.mark.parametrize("file", ["repro.py", "issue.md", "report.json", "report.html"])
@pytest.mark.parametrize("private", PRIVATE)
def test_each_secret_is_found_in_each_file(private: str, file: str) -> None:
    terms = terms_of(data.text(private))
    for secret in data.secrets(private):
        body = (
            json.dumps({"detail": f"see {secret} here"})
            if file.endswith(".json")
            else f"x = 1  # see {secret} here\n"
        )
        assert not run({file: body}, terms).passed, secret


@pytest.mark.parametrize("private", PRIVATE)
def test_the_private_program_itself_is_refused(private: str) -> None:
    result = run({"repro.py": data.text(private)}, terms_of(data.text(private)))
    assert {"name", "string", "phrase", "rare word", "URL"} <= {
        finding.kind for finding in result.findings
    }


EVERYDAY = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, scale=2.0, temp=0.5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
    def forward(self, x):
        out = x * 2  # scale the batch, then take the mean of the loss
        return out

model = Net()
net, ref, batch, loss = model, None, 64, 0.1
print("max diff", loss)
assert ref is None, "wrong result"
"""


def test_everyday_names_are_no_evidence() -> None:
    for honest in (data.CRASH, data.GRADIENT):
        assert run(data.honest_files(honest), terms_of(EVERYDAY)).findings == ()


@pytest.mark.parametrize(
    ("source", "file", "outgoing", "leaks"),
    [
        ("class AureliaResBlock: pass", "repro.py", "class AureliaResBlock(nn.Module):", True),
        ("class AureliaResBlock: pass", "repro.py", "class Wrap_aurelia(nn.Module):", True),
        ("class AureliaResBlock: pass", "issue.md", "the AURELIA network", True),
        ("class AureliaResBlock: pass", "repro.py", "class ResBlock(nn.Module):", False),
        ("self.clause_proj = 1", "repro.py", "y = clause_proj", True),
        ("self.gate_score = 1", "repro.py", "y = gate_scores", False),
        ("self.gate_score = 1", "issue.md", "the gate_score of it", True),
        ("gate_score = 1", "issue.md", "the gate_score of it", True),
        ("class Window: pass", "issue.md", "a Window of it", True),
        ("self.heads = 2", "repro.py", "heads = 2", True),
        ("self.heads = 2", "issue.md", "attention with two heads", False),
        ("heads = 2", "repro.py", "heads = 2", False),
        ("def causal(b): pass", "test_repro.py", "causal(1)", True),
        (
            "self.register_buffer('slopes', t)",
            "repro.py",
            "self.register_buffer('slopes', x)",
            True,
        ),
        ("from halcyon_models import Encoder", "issue.md", "halcyon_models", True),
        ("import numpy as np", "issue.md", "[pip3] numpy==2.4.6", False),
        ("torch.manual_seed(20260419)", "issue.md", "seed 20260419", True),
        ("torch.manual_seed(20260419)", "repro.py", "seed(20_260_419)", True),
        ("n = 211", "repro.py", "torch.randn(211, 2)", True),
        ("n = 211", "issue.md", 'File "torch/x.py", line 211', False),
        (
            "n = 4096; m = 1000; k = 100; j = 37; d = 768",
            "repro.py",
            "(4096, 1000, 100, 37, 768)",
            False,
        ),
        ("z = 0.18215", "repro.py", "x * 0.18215", True),
        ("z = 0.18215", "issue.md", "x * 1.8215e-1", True),
        ("z = 1e-5; y = 0.5; p = 3.14159265", "repro.py", "1e-5 + 0.5 * 3.14159265", False),
        (
            "def f():\n  '''Bank (grain recipe v3).'''",
            "issue.md",
            "the grain  recipe\nv3 said",
            True,
        ),
        ("# ticket PF-9082 explains", "issue.md", "as in PF-9082.", True),
        ("# owner: priya.raman", "issue.md", "thanks, Priya", True),
        ("s = 'outputs of tower differ'", "issue.md", "outputs of\ntower differ", True),
        ("s = 'bilinear'", "repro.py", "mode='bilinear'", False),
        ("s = 'aot_eager'; t = 'inductor'", "issue.md", "| aot_eager | inductor |", False),
        (
            "torch._inductor.config.fallback_random = True",
            "repro.py",
            "config.fallback_random = True",
            False,
        ),
        ("s = 'bhqd,bhkd->bhqk'", "repro.py", "'bhqd,bhkd->bhqk'", True),
        ("s = 'abcd,abed->abce'", "repro.py", "'abcd,abed->abce'", False),
        ("this is not (python AureliaNet", "repro.py", "AureliaNet", True),
    ],
)
def test_terms(source: str, file: str, outgoing: str, leaks: bool) -> None:
    result = run({file: outgoing + "\n"}, terms_of(source))
    assert (not result.passed) is leaks, (outgoing, result.findings)


def test_path_and_extra_are_terms() -> None:
    terms = terms_of("x = 1", "Tycho Brahe", path="/srv/jobs/zebrafish/train_marlowe.py")
    for outgoing in ("zebrafish", "train_marlowe.py", "marlowe", "by Tycho  Brahe"):
        assert not run({"issue.md": outgoing}, terms).passed, outgoing
    assert run({"issue.md": "train the model"}, terms).passed


def test_a_version_of_four_numbers_is_no_address() -> None:
    text = "[pip3] nvidia-cublas==13.4.1.3\n[conda] mkl==2024.0.1.46\n"
    assert run({"issue.md": text}, Terms(), SOMEBODY).passed


@pytest.mark.parametrize(
    ("outgoing", "kind"),
    [
        ("File '/home/anyone/x.py'", "path"),
        ("see /Users/Anyone/work", "path"),
        (r"C:\Users\anyone\x.py", "path"),
        ("/tmp/torchinductor_jdoe77/ab/cd.cpp", "path"),
        ("mail a.b@corp.example now", "e-mail address"),
        ("host 10.1.22.3 answered", "IP address"),
        ("https://git.corp.example/x", "URL"),
        ("run by jdoe77 on it", "user name"),
        ("on tycho-gpu3 today", "host name"),
        ("in /home/jdoe77/x", "home folder"),
        ('key = "AKIAIOSFODNN7EXAMPLE"', "credential (AWS Access Key)"),
        (
            "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8  # pragma: allowlist secret",
            "credential (GitHub Token)",
        ),
    ],
)
def test_private_whoever_wrote_it(outgoing: str, kind: str) -> None:
    result = run({"issue.md": f"first line\n{outgoing}\n"}, Terms(), SOMEBODY)
    assert kind in {finding.kind for finding in result.findings}
    assert all(finding.line == 2 for finding in result.findings)


@pytest.mark.parametrize(
    "outgoing",
    [
        "https://github.com/pytorch/pytorch/issues/1",
        "/usr/bin/ld: cannot find -lfoo",
        "cuDNN 9.1.0, torch 2.13.0+cpu, at 127.0.0.1",
        'File "torch/_inductor/compile_fx.py", line 12',
        "a/b/home/c and x.max() by the root user at localhost",
    ],
)
def test_public_patterns_pass(outgoing: str) -> None:
    assert (
        run({"issue.md": outgoing}, Terms(), Identity("/root", "max", "localhost")).findings == ()
    )


def test_user_with_a_common_name_is_found_in_a_path_only() -> None:
    who = Identity("", "max", "")
    assert run({"repro.py": "torch.max(x)"}, Terms(), who).passed
    assert not run({"issue.md": "see drive/max/x"}, Terms(), who).passed


def test_disguises_of_the_format_do_not_help() -> None:
    terms = terms_of("s = 'tok<Q7>&\"zq\"'; class_name = 'Größenwahn'")
    assert not run({"report.html": "tok&lt;Q7&gt;&amp;&quot;zq&quot;"}, terms).passed
    assert not run({"report.json": json.dumps({"a": ["Größenwahn"]})}, terms).passed


def test_names_of_outgoing_files_are_searched() -> None:
    assert not run({"marlowe.txt": "fine"}, terms_of("class MarloweNet: pass")).passed


def test_findings_point_at_the_place_once() -> None:
    result = audit(
        {"repro.py": "a\nb = MarloweNet\nMarloweNet\n"}, terms_of("class MarloweNet: pass"), NOBODY
    )
    assert result.findings == (Finding("repro.py", 2, "MarloweNet", "name", "b = MarloweNet"),)


def test_house_words_in_prose_do_not_excuse_them_in_code() -> None:
    terms = terms_of("def ablation_table(): pass")
    house = House(prose="ablation_table")
    assert audit({"issue.md": "ablation_table"}, terms, NOBODY, house=house).passed
    assert not audit({"repro.py": "ablation_table"}, terms, NOBODY, house=house).passed


def test_generated_names_can_ask_beforehand() -> None:
    terms = terms_of("class MarloweNet:\n  def f(self): self.conv1 = 1")
    assert [
        terms.is_private(name) for name in ("MarloweNet", "conv1", "marlowe_2", "conv2", "x")
    ] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_refusal_quotes_nothing() -> None:
    terms = terms_of("class MarloweNet: pass")
    with pytest.raises(LeakError) as caught:
        refuse_leaks(run({"issue.md": "MarloweNet"}, terms))
    assert "arlowe" not in str(caught.value) and "issue.md" in str(caught.value)
    refuse_leaks(run({"issue.md": "nothing"}, terms))


def test_count_is_known_beforehand() -> None:
    terms = terms_of("class MarloweNet: pass")
    assert (
        run({"a": "MarloweNet"}, terms, SOMEBODY).terms_checked
        == terms_checked(terms, SOMEBODY)
        == len(terms) + 3
    )


def test_words() -> None:
    assert subwords("HTTPServer_v2x") == ["http", "server", "v", "2", "x"]
    assert is_common("scaling", frozenset({"scale"})) and not is_common(
        "marlowe", frozenset({"scale"})
    )
    assert is_canonical_einsum("ab,bc->ac") and not is_canonical_einsum("bt,td->bd")


def test_a_program_in_a_string_is_a_program() -> None:
    """What `exec` runs is told by its names, comments and strings; the grammar it shares with every program tells nothing."""
    code = """
class GrainFurnace(Base):
    def __init__(self):
        super().__init__()
        self.kiln_rate = "hearth of embers"  # borrowed from zorblax
"""
    terms = terms_of(f"SOURCE = {code!r}\nexec(SOURCE)")
    assert terms.is_private("GrainFurnace") and terms.is_private("kiln_rate")
    shared = "class Repro(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.linear1 = 1\n"
    assert run({"repro.py": shared}, terms).passed
    for leak in ("GrainFurnace", "self.kiln_rate", "hearth of embers", "zorblax"):
        assert not run({"issue.md": f"it says {leak} here"}, terms).passed, leak
