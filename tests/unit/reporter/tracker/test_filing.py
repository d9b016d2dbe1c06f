"""`bugreport file` as a person meets it: what is shown, what is asked, what leaves, and what comes
back.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from anonymizer.leakcheck.scanner import collect_private_terms
from reporter.core.errors import AuthenticationError, LeakError, UsageError
from reporter.core.settings import Options
from reporter.publish.leak_check import AllowList, collect_own_text
from reporter.report.folder import ALLOW_LIST, OLD_ALLOW_LIST
from reporter.store.reports import compute_key
from reporter.tracker.filing import FilingRequest, file
from reporter.tracker.manual_form import build_form
from reporter.tracker.outcome import FilingResult, PreviewResult
from reporter.tracker.repository import Repository
from reporter.tracker.submission import NO_WORDS, WITH_WORDS, add_words, read_submission
from templates.text import count_bytes
from tests.support.created import command
from tests.support.github.submitter import WORDS, RecordedPrompt, copied, run_file
from tests.support.github.tracker import TOKEN, Fault, Repo, Tracker

CREATE = "issues/create"


def issue_of(report: Path) -> tuple[str, str]:
    title, _, body = (report / "issue.md").read_text().partition("\n")
    return title, body


def test_a_person_reads_writes_a_sentence_says_yes_and_gets_an_address(
    tracker: Tracker, report: Path
) -> None:
    user = RecordedPrompt([WORDS, "y"])
    filed = run_file(report, user, labels=("module: inductor", "oncall: pt2"))
    assert isinstance(filed, FilingResult)
    assert filed.action == "filed" and filed.url == "https://github.com/pytorch/pytorch/issues/1"
    (issue,) = tracker.repo.issues
    title, _ = issue_of(report)
    assert issue["title"] == title and (report / "repro.py").read_text().strip() in issue["body"]
    # the sentence is asked for, and the yes is said to be a confirmation, before either is given
    asked = "\n".join(user.said)
    assert asked.index("what did you do when it failed") < asked.index("Your sentence")
    assert asked.index("you confirm that you have read it") < asked.index("File this in")
    # what was shown is what was sent, and the sentence stands before the repro
    shown = "\n".join(user.shown)
    assert issue["body"].rstrip() in shown and title in shown
    assert issue["body"].index(WORDS) < issue["body"].index("```python")
    assert (
        "no person has added words" not in issue["body"]
        and "wrote the second paragraph" in issue["body"]
    )
    assert (
        f"<!-- bugreport-key: {compute_key((report / 'repro.py').read_text())} -->" in issue["body"]
    )
    # an author without rights: the labels were dropped without an error, and that is said
    assert filed.labels.dropped == ("module: inductor", "oncall: pt2")
    assert any(
        "dropped the labels module: inductor, oncall: pt2" in line for line in filed.summarize()
    )
    assert tracker.authorizations == {TOKEN}


def test_only_labels_that_the_project_has_are_asked_for(tracker: Tracker, report: Path) -> None:
    document = json.loads((report / "report.json").read_text())
    document["labels"] = ["module: inductor", "module: made up"]
    (report / "report.json").write_text(json.dumps(document))
    tracker.repo.writers = ("reporter",)
    filed = run_file(report, assignee=("@me",), yes=True, summary=WORDS)
    assert isinstance(filed, FilingResult)
    assert filed.labels.given == ("module: inductor",) and not filed.labels.dropped
    assert filed.assignees.given == ("reporter",)
    assert any("has no label 'module: made up'" in note for note in filed.notes)


def test_a_label_that_cannot_be_asked_for_is_left_out_and_that_is_said(
    tracker: Tracker, report: Path
) -> None:
    tracker.faults = [Fault("issues/get-label", status=503, times=99)]
    filed = run_file(report)
    assert isinstance(filed, FilingResult) and filed.labels.asked == ()
    (note,) = (note for note in filed.notes if "label" in note)
    assert note.startswith("the label 'module: inductor' is left out: ") and "github.com" in note


def test_a_report_that_is_known_to_be_filed_asks_and_shows_nothing_more(
    tracker: Tracker, report: Path
) -> None:
    """The store knows where it is, even if nothing in the issue tells it any more."""
    run_file(report)
    tracker.repo.issues[0]["body"] = "edited beyond recognition"
    user = RecordedPrompt()
    again = run_file(report, user)
    assert isinstance(again, FilingResult) and (again.action, again.number) == ("already_filed", 1)
    assert user.shown == [] and tracker.count(CREATE) == 1


def test_a_request_is_for_an_issue_of_its_own_unless_it_names_one(
    tracker: Tracker, report: Path
) -> None:
    wanted = FilingRequest(
        Repository("github.com", "pytorch", "pytorch"), Options(yes=True, summary=WORDS)
    )
    filed = file(report, wanted, RecordedPrompt(is_there=False))
    assert isinstance(filed, FilingResult) and filed.action == "filed"


@pytest.mark.parametrize("answers", [["n"], [""]])
def test_a_no_sends_nothing(answers: list[str], tracker: Tracker, report: Path) -> None:
    class Hesitant(RecordedPrompt):
        def choose(self, question: str, answers: object) -> str:
            return self.answers.pop(0) or "n"

    shown = run_file(report, Hesitant([WORDS, *answers]))
    assert isinstance(shown, PreviewResult) and (shown.action, shown.exit_code) == ("declined", 130)
    assert tracker.count(CREATE) == 0


def test_a_word_is_no_sentence(tracker: Tracker, report: Path) -> None:
    user = RecordedPrompt(["", "asdf", WORDS, "y"])
    assert isinstance(run_file(report, user), FilingResult) and not user.answers


REFUSED = [
    ({"yes": True}, "sentence of your own"),
    ({"summary": WORDS}, "somebody who says yes"),
    ({"repo": None, "yes": True, "summary": WORDS}, "not said where to file"),
    ({"repo": "pytorch", "yes": True, "summary": WORDS}, "is not a project"),
    ({"labels": ("high priority",), "yes": True, "summary": WORDS}, "for the maintainers"),
    ({"labels": ("sev1",), "yes": True, "summary": WORDS}, "for the maintainers"),
    ({"dry_run": True, "web": True}, "exclude each other"),
]


@pytest.mark.parametrize(("options", "says"), REFUSED)
def test_unattended_filing_is_refused(
    options: dict[str, object], says: str, tracker: Tracker, report: Path
) -> None:
    with pytest.raises(UsageError, match=says):
        run_file(report, RecordedPrompt(is_there=False), **options)
    assert tracker.log == []


def test_without_a_token_nothing_starts(
    tracker: Tracker, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GH_TOKEN")
    with pytest.raises(AuthenticationError, match="there is no token for github.com"):
        run_file(report)
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    with pytest.raises(AuthenticationError, match="GH_ENTERPRISE_TOKEN"):
        run_file(report, repo="git.example.com/pytorch/pytorch")


def test_an_enterprise_host_gets_its_own_token_and_path(
    tracker: Tracker, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tracker.prefix = "/api/v3"
    tracker.people = {"enterprise-token": "reporter"}
    monkeypatch.setenv("BUGREPORT_GITHUB_API", f"{tracker.base}/api/v3")
    monkeypatch.setenv("GH_HOST", "git.example.com")
    monkeypatch.setenv("GITHUB_ENTERPRISE_TOKEN", "enterprise-token")
    filed = run_file(report)
    assert (
        isinstance(filed, FilingResult)
        and str(filed.repository) == "git.example.com/pytorch/pytorch"
    )
    assert tracker.authorizations == {"enterprise-token"}


def test_a_project_is_known_by_the_name_it_has_today(tracker: Tracker, report: Path) -> None:
    filed = run_file(report, repo="PyTorch/PyTorch")
    assert isinstance(filed, FilingResult) and filed.repository == Repository(
        "github.com", "pytorch", "pytorch"
    )
    again = run_file(report, repo="pytorch/pytorch")
    assert isinstance(again, FilingResult) and again.action == "already_filed"


@pytest.mark.parametrize(
    ("field", "says"), [("has_issues", "switched off"), ("archived", "archived")]
)
def test_a_project_that_takes_no_issues(
    field: str, says: str, tracker: Tracker, report: Path
) -> None:
    setattr(tracker.repo, field, field == "archived")
    with pytest.raises(UsageError, match=says):
        run_file(report)


def test_a_dry_run_shows_all_and_touches_no_network(
    report: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BUGREPORT_GITHUB_API", "http://127.0.0.1:9")
    monkeypatch.delenv("GH_TOKEN", raising=False)
    shown = run_file(report, RecordedPrompt(is_there=False), dry_run=True, summary=WORDS)
    assert isinstance(shown, PreviewResult) and shown.exit_code == 0
    title, _ = issue_of(report)
    assert shown.would_send["title"] == title and WORDS in shown.would_send["body"]
    assert shown.would_send["body"].rstrip() in "\n".join(shown.summarize())
    assert shown.to_json()["action"] == "dry_run"


def test_the_web_form_opens_with_the_title_and_the_sections_are_printed(
    tracker: Tracker, report: Path
) -> None:
    user = RecordedPrompt()
    shown = run_file(report, user, web=True, summary=WORDS)
    assert isinstance(shown, PreviewResult) and tracker.log == []
    (url,) = user.opened
    assert count_bytes(url) < 8192 and shown.summarize()[0] == url
    query = parse_qs(urlsplit(url).query)
    assert query["template"] == ["pt2-bug-report.yml"] and query["title"] == [issue_of(report)[0]]
    assert shown.form is not None
    assert [heading for heading, _ in shown.form.sections] == [
        "🐛 Describe the bug",
        "Error logs",
        "Versions",
    ]
    assert "bugreport-key" in shown.form.sections[-1][1] and WORDS in shown.form.sections[0][1]


def test_an_address_stays_short_whatever_the_title(report: Path) -> None:
    draft = read_submission(report)
    long = replace(draft, text=replace(draft.text, title="ü" * 5000))
    for repository in ("pytorch/pytorch", "a/b"):
        owner, _, name = repository.partition("/")
        assert count_bytes(build_form(Repository("github.com", owner, name), long).url) < 8192


def test_a_report_that_is_edited_is_sent_as_it_is_now(tracker: Tracker, report: Path) -> None:
    text = (report / "issue.md").read_text()
    edited = text.replace("### Versions", "Happens only on Tuesdays.\n\n### Versions", 1)
    edited = re.sub(r"\n_This report was reduced.*_\n", "\n", edited)
    edited = re.sub(r"<!-- bugreport-key.*-->", "", edited)
    (report / "issue.md").write_text(edited.replace("\n", "\r\n"))
    run_file(report)
    body = tracker.repo.issues[0]["body"]
    assert "Happens only on Tuesdays." in body and "\r" not in body
    assert "written by the tool bugreport" in body and body.count("bugreport-key") == 1


LEAKS = [
    ("the token ghp_0123456789abcdefghijklmnopqrstuvwxyzAB", "credential"),
    ("our AureliaResBlock fails", "name"),
]


@pytest.mark.parametrize(("words", "kind"), LEAKS)
@pytest.mark.parametrize("where", ["text", "summary"])
def test_what_a_person_adds_is_checked_for_leaks_too(
    where: str, words: str, kind: str, tracker: Tracker, report: Path
) -> None:
    (report / "private" / "mapping.json").write_text(
        json.dumps({"names": {"model": "AureliaResBlock"}})
    )
    summary = words if where == "summary" else WORDS
    if where == "text":
        (report / "issue.md").write_text(
            (report / "issue.md").read_text().replace("- **Expected**", f"{words}\n- **Expected**")
        )
    with pytest.raises(LeakError) as caught:
        run_file(report, yes=True, summary=summary)
    assert (
        kind in str(caught.value)
        and "Aurelia" not in str(caught.value)
        and "ghp_" not in str(caught.value)
    )
    assert tracker.log == []
    rows = json.loads((report / "private" / "leaks.json").read_text())
    assert (
        rows[0]["term"] in words
        and (report / "private" / "leaks.json").stat().st_mode & 0o777 == 0o600
    )


@pytest.mark.parametrize("name", [ALLOW_LIST, OLD_ALLOW_LIST])
def test_the_allow_list_is_the_one_that_the_report_passed(
    tracker: Tracker, report: Path, name: str
) -> None:
    """Every term of the program counts again, with what was allowed then; --keep-source leaves the
    terms out.
    """
    script = {"/home/me/secret_lab/train.py": "class QuorumGlazer:\n    width = 48271\n"}
    allowing = AllowList(
        collect_private_terms(script, frozenset(["torch"])), ("an internal",), ("0" * 40,)
    )
    (report / "private" / name).write_text(allowing.dumps())
    assert AllowList.load(report / "private" / name) == allowing
    for words in ("Seen with our quorum glazer here.", "It needs 48271 columns to fail."):
        with pytest.raises(LeakError, match="in line 7 of issue.md"):
            run_file(report, yes=True, summary=words)
    assert tracker.log == []
    filed = run_file(report, yes=True, summary="It needs 48271 columns to fail.", keep_source=True)
    assert isinstance(filed, FilingResult) and filed.notes == ()


def test_an_allow_list_that_cannot_be_read_any_more_is_told(tracker: Tracker, report: Path) -> None:
    (report / "private" / ALLOW_LIST).write_text('{"terms": {}}')
    (report / "private" / "mapping.json").write_text(json.dumps({"names": {"model": "Aurelia"}}))
    filed = run_file(report, yes=True, summary=WORDS)
    assert isinstance(filed, FilingResult)
    assert any("its texts, numbers and comments could not be looked" in n for n in filed.notes)


def test_an_address_that_a_person_added_is_pointed_out_and_not_refused(
    tracker: Tracker, report: Path
) -> None:
    filed = run_file(
        report, yes=True, summary="See also https://example.org/notes for how it began."
    )
    assert isinstance(filed, FilingResult) and any(
        "has a URL; is it meant" in note for note in filed.notes
    )


def test_a_log_that_does_not_fit_becomes_the_first_comment(tracker: Tracker, report: Path) -> None:
    log = "\n".join(f"frame {number} of a very long traceback" for number in range(1780))
    text = (report / "issue.md").read_text()
    head, _, tail = text.partition("### Error logs\n")
    versions = tail[tail.index("### Versions") :]
    (report / "issue.md").write_text(f"{head}### Error logs\n\n```\n{log}\n```\n\n{versions}")
    filed = run_file(report)
    assert isinstance(filed, FilingResult) and filed.log_url is not None, filed.to_json()
    (issue,) = tracker.repo.issues
    assert (
        count_bytes(issue["body"]) <= 65_536 and "The log is in the first comment." in issue["body"]
    )
    assert (report / "repro.py").read_text().strip() in issue["body"]
    (comment,) = issue["comments"]
    assert log in comment["body"] and not tracker.gists
    run_file(report)
    assert len(issue["comments"]) == 1


def test_a_log_beyond_a_comment_becomes_a_secret_gist(tracker: Tracker, report: Path) -> None:
    log = "\n".join(f"frame {number} of a very long traceback" for number in range(4000))
    (report / "error_log.txt").write_text(log)
    filed = run_file(report)
    assert isinstance(filed, FilingResult)
    (gist,) = tracker.gists
    assert list(gist["files"].values()) == [{"content": log}] and gist["public"] is False
    assert "https://gist.github.com/" in tracker.repo.issues[0]["comments"][0]["body"]


def test_where_no_gist_may_be_made_the_comment_has_the_log_cut(
    tracker: Tracker, report: Path
) -> None:
    tracker.faults = [Fault("gists/create", status=403, message="Resource not accessible")]
    (report / "error_log.txt").write_text("x" * 70_000 + "\nthe end of it")
    filed = run_file(report)
    assert isinstance(filed, FilingResult) and filed.log_url
    comment = tracker.repo.issues[0]["comments"][0]["body"]
    assert "bytes left out" in comment and "the end of it" in comment


def test_a_text_that_cannot_fit_is_refused_and_its_repro_never_cut(
    tracker: Tracker, report: Path
) -> None:
    text = (report / "issue.md").read_text()
    (report / "issue.md").write_text(
        text.replace("- **Expected**", "word " * 14_000 + "\n- **Expected**")
    )
    with pytest.raises(UsageError, match="the tracker takes 65,536; shorten it"):
        run_file(report)
    assert tracker.log == []


ROUNDING = {"kind": "rounding", "layer": "none", "is_bug": False, "summary": "It is rounding."}
BROKEN = [
    ("report.json", None, "is not a report folder"),
    ("issue.md", None, "is not a report folder"),
    ("report.json", "{", "is not a report"),
    ("report.json", json.dumps({"schema_version": 2, "verdict": ROUNDING}), "without a repro"),
    ("issue.md", "\n\n", "must have a title"),
    ("issue.md", "t" * 300 + "\n\nbody", "300 characters"),
]


@pytest.mark.parametrize(("name", "text", "says"), BROKEN)
def test_a_folder_that_is_no_report_is_refused(
    name: str, text: str | None, says: str, tracker: Tracker, report: Path
) -> None:
    (report / name).unlink()
    if text is not None:
        (report / name).write_text(text)
    with pytest.raises(UsageError, match=says):
        run_file(report)


def test_words_are_put_where_the_template_puts_them(report: Path) -> None:
    """The text that `create --summary` writes and the one that `file --summary` makes of it are the
    same.
    """
    before = add_words(read_submission(report), WORDS).text.body
    assert (
        add_words(read_submission(report), WORDS).text.body
        == add_words(add_words(read_submission(report), WORDS), WORDS).text.body
    )
    # the disclosure is the templates' and has two endings; with words it has to get the other one
    assert NO_WORDS in collect_own_text() and WITH_WORDS in collect_own_text()
    assert NO_WORDS in read_submission(report).text.body and WITH_WORDS in before
    paragraphs = before.split("\n\n")
    assert paragraphs[2] == WORDS and paragraphs[0] == "### 🐛 Describe the bug"


def test_a_script_files_with_yes_and_a_sentence_and_never_without(
    tracker: Tracker, report: Path, tmp_path: Path
) -> None:
    words = ["file", report, "-R", "pytorch/pytorch", "--json"]
    done = command(*words, cwd=tmp_path)
    assert done.returncode == 2 and json.loads(done.stdout)["error"]["exit_code"] == 2
    assert done.stderr.count("\n") == 1 and "no terminal to ask" in done.stderr
    assert tracker.log == []
    done = command(*words, "--yes", "--summary", WORDS, cwd=tmp_path)
    document = json.loads(done.stdout)
    assert done.returncode == 0 and document["action"] == "filed" and document["number"] == 1
    assert document["labels"]["dropped"] == ["module: inductor"]


def test_another_projects_form_takes_the_whole_body(tracker: Tracker, tmp_path: Path) -> None:
    report = copied("foobar", tmp_path / "other")
    tracker.repos["a/b"] = Repo("a/b", labels=())
    shown = run_file(report, RecordedPrompt(is_there=False), web=True, repo="a/b")
    assert isinstance(shown, PreviewResult) and shown.form is not None
    assert [heading for heading, _ in shown.form.sections] == [""]
    assert "body=" in shown.form.url or count_bytes(shown.form.sections[0][1]) > 2000
