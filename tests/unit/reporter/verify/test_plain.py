"""Programs in plain forms."""

from __future__ import annotations

from anonymizer.graph.repro import CallingConvention, ReproAssertion, ReproBody
from anonymizer.plain.script.forms import PlainForm
from reporter.verify.plain import write_plain_program


def test_a_form_that_a_program_lacks_the_parts_of_does_not_fit_it() -> None:
    empty = ReproBody("", "program", ("return ()",), CallingConvention(is_script=True))
    assert write_plain_program(empty, ReproAssertion("crash"), PlainForm.PLAINEST) is None
