"""The line of an exception's message that names the problem."""

from __future__ import annotations

import re

from collectors.protocol.failure import Failure
from reporter.core.signature import read_fake_call
from templates.text import tidy_log

#: What torch tells a user to set, at the end of a line that names a problem.
_ADVICE = re.compile(r"\s*(?:For more information, run with|Set) TORCH\w*=.*$")
#: `Constraints violated (d0)!`, and the first of the points below it.
_POINT = re.compile(r"^(?P<heading>\S.*[:!.])\n\s+- (?P<first>.+)$", re.MULTILINE)
#: What Dynamo said of a fake call before 2.8: the call with its fake tensors, and below it what
#: raised it.
_FAILED_RUNNING = re.compile(
    r"^(?P<heading>Failed running call_.*:)\n(?P<said>\S.*)$", re.MULTILINE
)


def shorten_message(failure: Failure | None) -> str:
    """The line of an exception that names the problem, without the advice behind it; of a heading
    with a list below it the first point as well, and of Dynamo's fake calls what the operator says.
    Empty where there is no exception.

    At most 500 characters.
    """
    if failure is None:
        return ""
    line = _ADVICE.sub("", str(failure.get("first_line", "")))
    point = _POINT.match(str(failure.get("message", "")))
    if point and line and line == _ADVICE.sub("", point["heading"]):
        line = f"{line} {point['first']}"
    line = read_fake_call(failure) or line
    failed_call = _FAILED_RUNNING.match(str(failure.get("message", "")))
    if failed_call and line == failed_call["heading"]:
        line = failed_call["said"]
    return tidy_log(line)[:500]
