"""The leak check must hold back what is private and let an honest report pass: both halves, on real
programs.
"""

from __future__ import annotations

import json
import pkgutil
from pathlib import Path

import pytest

from anonymizer.leakcheck.scanner import Identity, collect_private_terms
from reporter.core.errors import LeakError
from reporter.publish import leak_check
from reporter.publish.leak_check import (
    AllowList,
    check_outgoing,
    collect_own_text,
    refuse_if_private,
    refuse_leaks,
)
from reporter.report import sections
from templates import charts
from tests.support import outgoing_data as data
from tests.support.leaks import SOMEBODY, run, terms_of
from tests.support.pages import document, page
from tests.support.scripts import text

PRIVATE = ("private_diffusion", "private_seq2seq")


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
    secrets = data.secrets(private)
    files = {}
    for number, secret in enumerate(secrets):
        sentence = f"see {secret} here"
        body = (
            json.dumps({"detail": sentence}) if file.endswith(".json") else f"x = 1  # {sentence}\n"
        )
        files[f"{number}/{file}"] = body
    found = run(files, terms_of(data.text(private)))
    kept_back = {finding.file for finding in found.findings}
    assert [secrets[number] for number, name in enumerate(files) if name not in kept_back] == []


@pytest.mark.parametrize("private", PRIVATE)
def test_the_private_program_itself_is_refused(private: str) -> None:
    result = run({"repro.py": data.text(private)}, terms_of(data.text(private)))
    assert {"name", "string", "phrase", "rare word", "URL"} <= {
        finding.kind for finding in result.findings
    }


def test_house_text_for_code_is_the_smaller() -> None:
    assert "setUp" in collect_own_text(code=True) and "Ablation" not in collect_own_text(code=True)
    assert "Ablation" in collect_own_text() and "setUp" in collect_own_text()


@pytest.mark.parametrize("name", ["PairedRow", "GridCell", "list_neighbour_rows", "Jinja2Engine"])
def test_a_name_of_the_templates_own_code_is_no_word_of_theirs(name: str) -> None:
    for file in ("repro.py", "issue.md"):
        assert not run({file: f"x = {name}\n"}, terms_of(f"class {name}: pass")).passed


def test_keys_of_all_sections_are_ours_but_those_of_the_machine_and_of_triton() -> None:
    modules = {module.name for module in pkgutil.iter_modules(sections.__path__)}
    own = {module.__name__.rpartition(".")[2] for module in leak_check.OWN_SECTIONS}
    assert modules - own == {"base", "machine", "triton"} and own < modules


def test_everyday_names_are_no_evidence() -> None:
    for honest in (data.CRASH, data.GRADIENT):
        assert run(data.honest_files(honest), terms_of(text("leaks/everyday"))).findings == ()


def test_words_of_the_report_itself_are_no_evidence() -> None:
    environment = {
        "os": "Debian GNU/Linux 12 (bookworm) (Linux 6.1.0-marlowe)",
        "machine": "x86_64",
        "cpu": "Intel(R) Xeon(R) Platinum 8488C",
        "cpu_capability": "AVX512",
        "processor": {"vendor": "GenuineIntel", "flags": "avx512_bf16 amx_tile"},
        "gpus": ["NVIDIA H100 80GB HBM3"],
        "packages": {"pytorch-lightning": "2.6.6"},
    }
    files = {"report.json": json.dumps({"diagnose": environment, "weight": "advice"})}
    program = (
        "import lightning\n"
        'machine, capability, gpu = "x86_64", "AVX512", "NVIDIA H100 80GB HBM3"\n'
        'vendors, amx = {"GenuineIntel"}, "amx_tile"\n'
        "# diagnose: an advice for Debian GNU/Linux 12 (bookworm) with avx512_bf16\n"
    )
    assert not check_outgoing(files, terms_of(program), identity=Identity()).passed
    allowing = AllowList.build(terms_of(program), (), environment).add_words(["diagnose"])
    given = {"internals": allowing.internals, "identity": Identity()}
    assert check_outgoing(files, allowing.terms, **given).findings == ()
    own_kernel = check_outgoing(files, terms_of('"6.1.0-marlowe"'), **given)
    assert "6.1.0-marlowe" in {finding.term for finding in own_kernel.findings}


def test_an_address_leaves_only_where_torchs_own_messages_have_it() -> None:
    help_page, other = "https://docs.example/torch/edit", "https://docs.example/torch/editor"
    terms, who = terms_of("class MarloweNet: pass"), Identity()
    log = {"issue.md": f"RuntimeError: no.\nFor more help, see {help_page}."}
    assert not check_outgoing(log, terms, identity=who).passed
    assert check_outgoing(log, terms, internals=(help_page,), identity=who).passed
    log["issue.md"] += f" And {other}"
    (found,) = check_outgoing(log, terms, internals=(help_page,), identity=who).findings
    assert (found.term, found.kind) == (other, "URL")


@pytest.mark.parametrize("with_folder", [True, False])
def test_refusal_quotes_nothing_and_says_where_the_list_is(
    with_folder: bool, tmp_path: Path
) -> None:
    terms = terms_of("class MarloweNet: pass")
    folder = tmp_path / "report" / "private" if with_folder else None
    with pytest.raises(LeakError) as caught:
        refuse_leaks(run({"issue.md": "MarloweNet"}, terms).findings, "nothing was sent", folder)
    said = str(caught.value)
    assert "arlowe" not in said and "line 1 of issue.md, so nothing was sent" in said
    found = list(tmp_path.rglob("leaks.json"))
    assert [f"the list is in {path}" in said for path in found] == [True] * with_folder
    refuse_leaks(run({"issue.md": "nothing"}, terms).findings, "nothing was sent", folder)


@pytest.mark.parametrize(
    ("comment", "kind"),
    [
        ("it reads `/tmp/work/data.bin`", "path"),
        ("as https://numpy.org/doc says", "URL"),
        ("mail jo@corp.example", "e-mail address"),
        ("at 10.1.22.3", "IP address"),
        ("ether 00:1a:2b:3c:4d:5e", "MAC address"),
    ],
)
def test_what_a_stranger_wrote_is_pointed_out_in_a_comment(comment: str, kind: str) -> None:
    assert [leak.kind for leak in refuse_if_private(comment)] == [kind]


def test_a_credential_in_a_comment_is_refused() -> None:
    with pytest.raises(LeakError, match="nothing was posted"):
        refuse_if_private("with AKIAIOSFODNN7EXAMPLE")


def test_an_allow_list_of_an_earlier_release_is_read(tmp_path: Path) -> None:
    terms = terms_of("class ClaimRiskGate: pass")
    path = tmp_path / "allow_list.json"
    known = json.loads(AllowList(terms, (), ()).dumps())
    assert known["terms"].pop("compounds") == ["ClaimRiskGate"]
    known["terms"].pop("code_compounds")
    path.write_text(json.dumps(known), encoding="utf-8")
    read = AllowList.load(path)
    assert read is not None and read.terms.everywhere.names == terms.everywhere.names


def test_the_leak_check_reads_the_pictures() -> None:
    source = "def wobble_quorum(x):\n    return x\n"
    terms = collect_private_terms({"script.py": source}, data.torch_vocabulary(), ())
    who = Identity("/home/someone", "someone", "host")
    clean = check_outgoing({"report.html": page()}, terms, internals=data.INTERNALS, identity=who)
    assert clean.passed, clean.findings
    found = document()["pictures"]["divergence"]
    found["points"][0]["operator"] = "wobble_quorum"
    picture = {"report.html": charts.plot_divergence(found)}
    leaky = check_outgoing(picture, terms, internals=data.INTERNALS, identity=who)
    assert "wobble_quorum" in {finding.term for finding in leaky.findings}
