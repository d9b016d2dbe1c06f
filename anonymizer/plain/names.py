"""Names as people give them: a number only where it tells two names apart, and a layer by what it
is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from anonymizer.graph.ir import StockLayer
from anonymizer.graph.repro import ReproAssertion, ReproBody
from anonymizer.graph.stock_layers import name_attribute
from anonymizer.kinds import WRONG_VALUES, Kind

_NUMBERED = re.compile(r"\b(attr|helper|method|state|make)\d+\b")
#: What is a variable, or an attribute of a class, and not of an object.
_STATE = re.compile(r"^ *(attr\d+) = ", re.MULTILINE)
#: A method that has become a function.
_FUNCTION = re.compile(r"^def ((?:attr|method)\d+)\(", re.MULTILINE)
_LAYER = re.compile(r"\bself\.(attr\d+) = nn\.([A-Z]\w*)\(")


def shorten_names(body: ReproBody, assertion: ReproAssertion) -> ReproBody:
    """The program with shorter names in the place of generated ones. What a compiler says when it
    raises may hold a name, so there all stay.
    """
    if assertion.kind not in WRONG_VALUES | {Kind.WRONG_METADATA}:
        return body
    texts = (body.definitions, body.callable, *body.inputs)
    names = _choose(texts, assertion.prelude)

    def rename(text: str) -> str:
        return re.sub(r"\b[A-Za-z]+\d+\b", lambda found: names.get(found[0], found[0]), text)

    return replace(
        body,
        definitions=rename(body.definitions),
        callable=rename(body.callable),
        inputs=tuple(map(rename, body.inputs)),
    )


def _choose(texts: Iterable[str], prelude: str) -> dict[str, str]:
    """Generated names -> shorter ones that nothing else has."""
    text = "\n".join(texts)
    taken = set(re.findall(r"[A-Za-z_]\w*", f"{text}\n{prelude}"))
    kept = set(re.findall(r"[A-Za-z_]\w*", prelude))
    wanted = {name: name_attribute(StockLayer(layer, ())) for name, layer in _LAYER.findall(text)}
    wanted |= dict.fromkeys(_STATE.findall(text), "state")
    wanted |= dict.fromkeys(_FUNCTION.findall(text), "helper")
    for name in dict.fromkeys(found[0] for found in _NUMBERED.finditer(text)):
        wanted.setdefault(name, name.rstrip("0123456789"))
    shorter = list(wanted.values())
    return {
        name: short
        for name, short in wanted.items()
        if shorter.count(short) == 1 and short not in taken and name not in kept
    }
