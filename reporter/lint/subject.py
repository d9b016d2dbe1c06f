"""What is linted: the texts as they would leave, whether they lie in a report folder, alone in a
file, or in memory.
"""

from __future__ import annotations

import ast
import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reporter.core.errors import UsageError
from reporter.report.folder import ISSUE, REPORT, REPRO, TEST
from reporter.report.own_form import load_own_form
from reporter.report.reading import read_report
from reporter.report.sections.report_document import Report
from templates import issue_forms
from templates.issue_forms import IssueForm
from templates.text import list_fences

_PYTHON = re.compile(r"(?:py|python|python3)\b", re.IGNORECASE)


@dataclass(frozen=True)
class LintSubject:
    """The texts of one issue.

    What there is not is None, and the rules about it have nothing to say.

    `name` is what messages call the program: `repro.py`, or the issue it stands in.
    """

    form: IssueForm
    title: str | None = None
    body: str | None = None
    repro: str | None = None
    test: str | None = None
    report: Report | None = None
    name: str = REPRO

    @property
    def issue_name(self) -> str:
        """What messages call the issue."""
        return ISSUE if self.name == REPRO else self.name

    @property
    def kind(self) -> str | None:
        """The verdict's kind, where there is one."""
        return str(self.report.verdict.kind) if self.report is not None else None

    @functools.cached_property
    def tree(self) -> ast.Module | None:
        """The program's syntax tree; None where there is no program or it is not Python."""
        if self.repro is None:
            return None
        try:
            return ast.parse(self.repro.removeprefix("\ufeff"))
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            return None

    def walk(self) -> Iterator[ast.AST]:
        """All nodes of the program."""
        if self.tree is not None:
            yield from ast.walk(self.tree)

    def find_functions(self) -> Iterator[ast.FunctionDef]:
        """The functions that are compiled: `forward` of each class, `fn`, and `repro`."""
        for node in self.walk():
            if isinstance(node, ast.FunctionDef) and node.name in ("forward", "fn", "repro"):
                yield node

    def find_inputs(self) -> Iterator[ast.stmt]:
        """The statements that make the inputs: those of `inputs`, or of a flat script."""
        functions = [node for node in self.walk() if isinstance(node, ast.FunctionDef)]
        own = next((node for node in functions if node.name == "inputs"), None)
        if own is not None:
            yield from own.body
            return
        definitions = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
        for statement in self.tree.body if self.tree is not None else ():
            if not isinstance(statement, definitions):
                yield statement


def collect_texts(
    form: IssueForm, issue: str, repro: str, test: str, report: Report
) -> LintSubject:
    """The subject of a report that is not written yet.

    Args:
        issue: the text of issue.md, of which the first line is the title.
        repro: the text of repro.py.
        test: the text of test_repro.py.
    """
    title, _, rest = issue.partition("\n")
    return LintSubject(form, title, rest.removeprefix("\n"), repro, test, report)


def read(path: Path, form: IssueForm | None = None) -> LintSubject:
    """A report folder, an issue in Markdown or a program, as the file system has it.

    Raises:
        UsageError: it is none of them.
    """
    if path.is_dir():
        return _read_folder(path, form)
    text = _read_text(path)
    if path.suffix == ".py":
        return LintSubject(form or _load_pytorch_form(), repro=text, name=path.name)
    if path.suffix in (".md", ".markdown", ".txt"):
        title, _, body = text.partition("\n")
        if title.startswith("#") or not title.strip():  # a body without its title line
            return LintSubject(
                form or _load_pytorch_form(), None, text, find_python_block(text), name=path.name
            )
        return LintSubject(
            form or _load_pytorch_form(),
            title,
            body.removeprefix("\n"),
            find_python_block(body),
            name=path.name,
        )
    raise UsageError(
        f"{path} is neither a report folder nor a .md or .py file; name one of them to lint it"
    )


def _read_folder(path: Path, form: IssueForm | None) -> LintSubject:
    if not (path / ISSUE).is_file():
        raise UsageError(f"{path} has no issue.md, so it is not a report folder; name one")
    try:
        document = json.loads(_read_text(path / REPORT))
    except ValueError:
        raise UsageError(f"{path / REPORT} is not JSON; create the report anew") from None
    report = read_report(document, str(path))
    if form is None:
        name = report.issue.form if report.issue is not None else "pytorch"
        form = load_own_form(path, name) or IssueForm(name)
    test = path / TEST
    return collect_texts(
        form,
        _read_text(path / ISSUE),
        _read_text(path / REPRO),
        _read_text(test) if test.exists() else "",
        report,
    )


def _load_pytorch_form() -> IssueForm:
    return issue_forms.load("pytorch")


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text; name a report") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); name a report") from None


def find_python_block(body: str) -> str | None:
    """The first Python code block of a Markdown text."""
    return next((code for info, code in list_fences(body) if _PYTHON.match(info)), None)
