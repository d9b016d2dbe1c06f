"""A report that is written again: in another form, and with the releases it was checked on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reporter.core.errors import UsageError
from reporter.lint.linter import lint
from reporter.lint.subject import read
from reporter.publish.rerendering import (
    build_rerender_files,
    render_in_form,
    update_checks,
)
from reporter.report.own_form import load_own_form
from reporter.store.database import open_store
from reporter.store.reports import compute_key
from templates import issue_forms
from tests.support.created import command
from tests.support.golden import HOME, issue


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report of a crash in torch 2.13.0, as `create` leaves it."""
    folder = tmp_path / "report"
    (folder / "private").mkdir(parents=True)
    for name in ("report.json", "repro.py", "test_repro.py"):
        (folder / name).write_text((HOME / "crash" / name).read_text("utf-8"), "utf-8")
    text = issue("crash")
    (folder / "issue.md").write_text(text, "utf-8")
    for name, value in build_rerender_files(
        issue_forms.load("pytorch"), {"issue.md": text}
    ).items():
        (folder / "private" / name).write_text(value, "utf-8")
    return folder


def checked(folder: Path, torch: str, outcome: str, hits: int = 3) -> None:
    """A result in the store, as `check` leaves it."""
    key = compute_key((folder / "repro.py").read_text("utf-8"))
    with open_store() as store:
        store.execute(
            "INSERT INTO checks (run, time, repro, key, release, torch, python, outcome,"
            " detail, seconds, hits, runs)"
            " VALUES (?, '2026-01-01T00:00:00Z', 'r', ?, ?, ?, '3.11.7', ?, '', 1.0, ?, 3)",
            (torch, key, torch, torch, outcome, hits),
        )


def test_releases_that_were_checked_reach_the_issue_and_the_page(report: Path) -> None:
    checked(report, "2.6.0", "fixed", 0)
    checked(report, "2.15.0", "reproduces")
    checked(report, "2.1.0", "cannot_judge", 0)
    (note,) = update_checks([str(report)])
    assert "have the releases now" in note
    text = (report / "issue.md").read_text("utf-8")
    assert "| 2.6.0 | right |" in text and "| 2.15.0 | fails, 3 of 3 runs |" in text
    assert "broken between 2.6.0 and" in text and "2.1.0" not in text
    assert 'data-chart="releases"' in (report / "report.html").read_text("utf-8")
    document = json.loads((report / "report.json").read_text("utf-8"))
    assert document["issue"]["releases"]["2.6.0"] == "right"
    assert "module: regression" in document["labels"] and document["lint"]["clean"]
    assert update_checks([str(report)]) == ()  # nothing new
    checked(report, "2.14.0", "reproduces")
    assert "have the releases now" in update_checks([str(report)])[0]


def test_an_issue_that_its_owner_has_edited_stays(report: Path) -> None:
    path = report / "issue.md"
    path.write_text(path.read_text("utf-8").replace("Expected", "EXPECTED"), "utf-8")
    before = path.read_text("utf-8")
    checked(report, "2.6.0", "fixed", 0)
    (note,) = update_checks([str(report)])
    assert "was edited and stays" in note and path.read_text("utf-8") == before
    assert 'data-chart="releases"' in (report / "report.html").read_text("utf-8")


def test_a_form_that_cannot_be_filled_in_any_more_is_a_note(report: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "issue.md.j2").write_text("{{ repro }} {{ of_another_version }}")
    (report / "private" / "template.txt").write_text(str(own))
    data = json.loads((report / "report.json").read_text("utf-8"))
    data["issue"]["form"] = "own"
    (report / "report.json").write_text(json.dumps(data), "utf-8")
    before = (report / "issue.md").read_text("utf-8")
    checked(report, "2.6.0", "fixed", 0)
    (note,) = update_checks([str(report)])
    assert "was not told" in note and "of_another_version" in note
    assert (report / "issue.md").read_text("utf-8") == before


def test_what_is_no_report_is_left_alone(tmp_path: Path, report: Path) -> None:
    (tmp_path / "alone.py").write_text("")
    assert update_checks([str(tmp_path / "alone.py"), str(tmp_path), "a/b#3"]) == ()
    data = json.loads((report / "report.json").read_text("utf-8"))
    del data["issue"]
    (report / "report.json").write_text(json.dumps(data), "utf-8")
    with pytest.raises(UsageError, match="create it anew"):
        render_in_form(report, issue_forms.load("plain"))


@pytest.mark.parametrize("name", issue_forms.list_forms())
def test_in_each_form_it_has_that_forms_headings(report: Path, name: str) -> None:
    form = issue_forms.load(name)
    text = render_in_form(report, form)
    for heading in form.headings:
        assert f"\n{heading}\n" in text
    assert (report / "repro.py").read_text("utf-8").strip() in text


def test_filing_in_a_form_of_ones_own(report: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "issue.md.j2").write_text("# Ours\n\n{{ actual }}\n\n{{ repro | fence('python') }}\n")
    (own / "form.toml").write_text('headings = ["# Ours"]\nlabels = ["module: inductor"]\n')
    done = command(
        "file", "--dry-run", "--json", report, "-R", "a/b", "--template", own, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    sent = json.loads(done.stdout)["would_send"]
    assert sent["body"].startswith("# Ours") and "bugreport-key" in sent["body"]
    assert sent["labels"] == ["module: inductor"]
    assert "written by the tool" in sent["body"]
    (own / "form.toml").write_text('headings = ["# Theirs"]\n')
    done = command("file", "--dry-run", report, "-R", "a/b", "--template", own, cwd=tmp_path)
    assert done.returncode == 2 and "has the headings '# Ours'" in done.stderr


def test_the_form_of_a_report_is_remembered(report: Path, tmp_path: Path) -> None:
    assert load_own_form(report, "pytorch") == issue_forms.load("pytorch")
    own = tmp_path / "own"
    own.mkdir()
    (own / "issue.md.j2").write_text("{{ repro }}")
    assert load_own_form(report, "own") is None
    (report / "private" / "template.txt").write_text(str(own))
    found = load_own_form(report, "own")
    assert found is not None and found.folder == own


def test_a_report_in_a_form_of_the_users_own_is_linted_in_it(report: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "issue.md.j2").write_text("# Ours\n\n{{ repro }}")
    (own / "form.toml").write_text('headings = ["# Ours"]\n')
    (report / "private" / "template.txt").write_text(str(own))
    written = json.loads((report / "report.json").read_text())
    written["issue"]["form"] = "own"
    (report / "report.json").write_text(json.dumps(written))
    assert read(report).form.headings == ("# Ours",)
    assert "headings" in {finding.rule for finding in lint(read(report)).findings}


def test_an_issue_that_was_being_written_when_the_run_was_killed_is_still_the_tools(
    report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    checked(report, "2.6.0", "fixed", 0)
    with monkeypatch.context() as patched:
        patched.setattr("reporter.publish.rerendering.write_atomically", die)
        with pytest.raises(KeyboardInterrupt):
            update_checks([str(report)])
    (note,) = update_checks([str(report)])
    assert "have the releases now" in note
    checked(report, "2.15.0", "reproduces")
    (note,) = update_checks([str(report)])
    assert "have the releases now" in note
