"""Which form an issue gets: the one that was asked for, else that of the project whose layer is at
fault.
"""

from __future__ import annotations

from reporter.core.errors import UsageError
from reporter.core.kinds import Layer
from reporter.core.settings import IssueOptions
from templates import issue_forms
from templates.issue import try_form
from templates.issue_forms import FormError, IssueForm


def choose_form(
    options: IssueOptions, layer: Layer = Layer.NONE, is_request: bool = False
) -> IssueForm:
    """The form for an issue about `layer`, or for a feature request.

    Args:
        options: a `template` in it is taken, whatever the rest.
        layer: the one at fault, whose project gets the issue.
        is_request: whether it asks for a feature.

    Raises:
        UsageError: the one asked for is none.
    """
    try:
        return issue_forms.load(
            options.template
            or (issue_forms.REQUEST if is_request else issue_forms.choose_form(layer))
        )
    except FormError as error:
        raise build_refusal(error) from None


def check_form(options: IssueOptions) -> None:
    """Tries the form that was asked for on a sample, before a run that takes minutes.

    Raises:
        UsageError: the form is none, or cannot be filled in.
    """
    if options.template is None:
        return
    form = choose_form(options)
    try:
        try_form(form)
    except FormError as error:
        raise build_refusal(error) from None


def build_refusal(error: FormError) -> UsageError:
    """The error of a form that cannot be used, whose sentence names the way out."""
    return UsageError(f"--template cannot be used: {error}; correct it or leave it out")
