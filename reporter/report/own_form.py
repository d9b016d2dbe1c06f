"""The form that a report was written in: one of ours by its name, or a folder of the user's own,
which `private/` names.
"""

from __future__ import annotations

from pathlib import Path

from reporter.report.folder import PRIVATE
from templates import issue_forms
from templates.issue_forms import FormError, IssueForm

#: In `private/`: the folder of a form of the user's own.
TEMPLATE = "template.txt"


def load_own_form(folder: Path, name: str) -> IssueForm | None:
    """The form that a report was written in; None where that was a folder which is gone.

    Args:
        folder: of the report.
        name: the public name of the form, as report.json has it.
    """
    try:
        if name in issue_forms.list_forms():
            return issue_forms.load(name)
        return issue_forms.load(Path((folder / PRIVATE / TEMPLATE).read_text(encoding="utf-8")))
    except (FormError, OSError):
        return None
