"""What surrounds a program is found on the machine itself, and looked for in all that leaves."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from anonymizer.leakcheck.scanner import Terms, collect_surrounding_terms
from reporter.core.kinds import Kind
from reporter.publish.surroundings import find_terms, list_machine_names
from tests.support import leaks
from tests.support import outgoing_data as data
from tests.support.surroundings import HONEST

WORD = "falconridge"


def found(terms: Terms, text: str, name: str = "issue.md") -> bool:
    return not leaks.run({name: text}, terms).passed


def around(folder: Path, environment: dict[str, object] | None = None, *more: str) -> Terms:
    os.environ.pop("PYTEST_CURRENT_TEST", None)  # it has the canary in the names of these tests
    words = (*data.torch_vocabulary(), *data.INTERNALS)
    return find_terms(folder, HONEST if environment is None else environment, more, words)


@pytest.mark.parametrize("name, value", [
    ("FALCONRIDGE_HOME", "1"), ("MY_JOB", "falconridge"), ("MY_JOB", "/data/Falconridge/x"),
    ("MY_JOB", "a:b,falconridge-7"), ("TORCH_COMPILE_JOB_ID", "falconridge_job"),
    ("CXX", "/opt/falconridge-g++"),
])  # fmt: skip
def test_names_and_values_of_variables_are_looked_for(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not found(around(tmp_path), "the Falconridge job")
    monkeypatch.setenv(name, value)
    assert found(around(tmp_path), "the Falconridge job")
    assert found(around(tmp_path), "x = 'falconridge_job'", "repro.py")


def test_a_value_that_leaves_by_the_table_is_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KMP_AFFINITY", "noverbose,compact")
    shown = {**HONEST, "variables": {"KMP_AFFINITY": "noverbose,compact"}}
    assert not found(around(tmp_path, shown), "KMP_AFFINITY=noverbose,compact")
    assert found(around(tmp_path, HONEST), "noverbose")


@pytest.mark.parametrize("kind", Kind)
def test_the_name_of_a_verdict_is_a_word_of_ours_whatever_the_variables_say(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`test_repro.py` has it in the name of its test."""
    monkeypatch.setenv("MY_JOB", f"{kind} falconridge".replace("_", " "))
    terms = around(tmp_path)
    assert not found(terms, f"def test_{kind}_min(): ...", "test_repro.py")
    assert found(terms, "def test_falconridge(): ...", "test_repro.py")


def test_a_git_checkout_is_read(tmp_path: Path) -> None:
    git = tmp_path / "checkout" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/kestrel-branch\n")
    (git / "config").write_text(
        '[remote "origin"]\n\turl = git@falconridge.example:osterman/x.git\n'
        "[user]\n\tname = Ann Thistledown\n"
    )
    (tmp_path / "checkout" / "models").mkdir()
    terms = around(tmp_path / "checkout" / "models")
    for word in ("kestrel", "falconridge", "osterman", "thistledown"):
        assert found(terms, f"the {word} run"), word
        assert not found(around(tmp_path), f"the {word} run"), word


def test_a_worktree_names_its_repository(tmp_path: Path) -> None:
    main = tmp_path / "main" / ".git"
    (main / "worktrees" / "w").mkdir(parents=True)
    (main / "config").write_text('[remote "falconridge"]\n')
    (main / "worktrees" / "w" / "commondir").write_text("../..\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {main / 'worktrees' / 'w'}\n")
    assert found(around(tmp_path / "w"), "falconridge")


def test_mounts_hosts_and_domains_are_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {
        "/proc/self/mounts": "nas:/export/kestrel /mnt/falconridge\\040data nfs rw 0 0\n",
        "/etc/resolv.conf": "search osterman.internal\n",
    }
    read = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda path, **how: told.get(str(path)) or read(path, **how)
    )
    list_machine_names.cache_clear()
    try:
        terms = around(tmp_path)
    finally:
        list_machine_names.cache_clear()
    for word in ("kestrel", "falconridge", "osterman"):
        assert found(terms, f"the {word} run"), word


def test_what_the_target_withheld_is_looked_for(tmp_path: Path) -> None:
    assert found(around(tmp_path, None, "2.13.0+falconridge.7"), "torch 2.13.0+falconridge.7")


def test_what_torch_requires_is_everybodys(tmp_path: Path) -> None:
    terms = around(tmp_path, None, "MarkupSafe", "markupsafe", "falconridge")
    assert not found(terms, "Extension modules: markupsafe._speedups (total: 1)")
    assert found(terms, "Extension modules: falconridge._speedups (total: 1)")


def test_an_honest_report_passes_on_this_machine(tmp_path: Path) -> None:
    """Its own variables, mounts and packages are those of whoever runs the tests."""
    texts = {f"issue{n}.md": data.text(x) for n, x in enumerate((data.CRASH, data.GRADIENT))}
    audit = leaks.run(texts, around(tmp_path))
    assert not [leak for leak in audit.findings if leak.kind in ("surroundings", "rare word")]


def test_everyday_words_of_a_path_are_no_evidence() -> None:
    terms = collect_surrounding_terms(
        ["/usr/local/lib/python3.11/site-packages", "x86_64-linux-gnu", "en_US.UTF-8"]
    )
    assert not [
        name
        for name in (*terms.everywhere.names, *terms.everywhere.strings)
        if re.search("python|linux", name)
    ]
