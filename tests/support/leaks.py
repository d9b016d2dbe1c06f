"""The leak check as a run asks it: private terms of a program, and the search of outgoing files."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from anonymizer.leakcheck.scanner import Identity, LeakCheckResult, Terms, collect_private_terms
from reporter.publish.leak_check import check_outgoing
from tests.support import outgoing_data as data

NOBODY = Identity()
SOMEBODY = Identity("/home/jdoe77", "jdoe77", "tycho-gpu3.lab.example")


@functools.cache
def terms_of(source: str, *extra: str, path: str = "script.py") -> Terms:
    """The private terms of a program, beside the words of a torch."""
    return collect_private_terms({path: source}, data.torch_vocabulary(), extra)


def run(files: Mapping[str, str], terms: Terms, who: Identity = NOBODY) -> LeakCheckResult:
    """The search of outgoing files, with the house words of all templates."""
    return check_outgoing(files, terms, internals=data.INTERNALS, identity=who, allowed=[data.GIT])
