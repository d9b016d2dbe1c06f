"""The last gate: what is about to leave is held against the private program once more, file by file, byte by byte."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from anonymizer.audit import Audit, House, Identity, Terms, audit
from anonymizer.vocabulary import harness_text
from reporter.errors import LeakError
from templates import house_text
from templates.wording import SUMMARIES

#: In `private/`: what the gate knew when the report was written, for the gate when it is sent.
GATE = "gate.json"
#: Beside issue.md, where the log did not fit into it.
ERROR_LOG = "error_log.txt"


def check_outgoing(
    files: Mapping[str, str],
    terms: Terms,
    *,
    internals: Iterable[str] = (),
    identity: Identity | None = None,
    allowed: Iterable[str] = (),
) -> Audit:
    """Looks for private terms in the final texts of everything outside `private/`.

    Args:
        files: relative name -> text.
        terms: from `anonymizer.audit.private_terms`.
        internals: the words of torch's own tracebacks, from the user's interpreter.
        identity: this machine's names; found out when not given.
        allowed: public values that look like credentials, such as torch's git revision.
    """
    house = House(
        code="\n".join((house_text(code=True), harness_text(), *SUMMARIES.values())),
        prose="\n".join((house_text(), *internals)),
    )
    return audit(files, terms, identity or Identity.of_this_machine(), house=house, allowed=allowed)


def refuse_leaks(result: Audit) -> None:
    """Ends the run when the leak check did not pass. The sentence quotes nothing private.

    Raises:
        LeakError: there is at least one finding.
    """
    if result.passed:
        return
    files = sorted({finding.file for finding in result.findings})
    kinds = sorted({finding.kind for finding in result.findings})
    count = len(result.findings)
    raise LeakError(
        f"the leak check found {count} private {'term' if count == 1 else 'terms'} ({', '.join(kinds)}) "
        f"in {', '.join(files)}, so no report was written; the list is in the private folder"
    )


def gate(keep_source: bool, allowed: Iterable[str | None], numbers: Iterable[float] = ()) -> str:
    """The text of `private/gate.json`; `numbers` are the sizes and values that may leave."""
    passed = [item for item in allowed if item]
    return json.dumps({"keep_source": keep_source, "allowed": passed, "numbers": sorted(numbers)})
