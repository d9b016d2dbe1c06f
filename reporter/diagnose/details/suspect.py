"""What the search for a culprit found, in words. Every text in it is public."""

from __future__ import annotations

from reporter.report.sections.details import CulpritSection


def describe_location(culprit: CulpritSection) -> str:
    """Where the bug is made, without a full stop; empty if the search did not tell."""
    if culprit.subsystem is None:
        return ""
    what = culprit.operator or culprit.graph_pass
    number = f", application {culprit.application}" if culprit.application else ""
    number += f" of {culprit.of}" if number and culprit.of else ""
    return f"{culprit.subsystem}{number}" + (f" ({what})" if what else "")


def describe(culprit: CulpritSection) -> str:
    """One or two sentences for people: where the bug is made, and how to get around it."""
    if not culprit.stable:
        return "The bug did not show when the call was compiled afresh, so no culprit was sought."
    parts = (
        [f"The bug comes with {describe_location(culprit)}."]
        if culprit.subsystem is not None
        else []
    )
    judged = sum(1 for switch in culprit.switches if switch.gone is not None)
    if culprit.workaround:
        with_settings = f"It goes away with {' and '.join(culprit.workaround)}"
        only = ", but not in the backend of the call itself" if culprit.confirmed is False else ""
        parts.append(f"{with_settings}{only}.")
    elif judged:
        parts.append(f"None of {judged} settings makes it go away.")
    return " ".join(parts)
