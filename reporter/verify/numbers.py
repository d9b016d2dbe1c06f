"""Numbers of the private program in the reduced one: each is replaced by a generic number if the
failure is there with that one too.

What had to stay is listed in the report and before the report is filed. What was not tried (beyond
`_MOST`) is not, and the leak check refuses it.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

from anonymizer.graph.repro import ReproAssertion, ReproBody
from anonymizer.harness.text import render_harness
from anonymizer.leakcheck.scanner import collect_private_terms
from reporter.core.answer import Answer
from reporter.core.formatting import format_program
from reporter.execution.worker_pool import WorkerPool
from reporter.report.captured_call import CapturedCall

#: Before a `j` it is the imaginary part of a complex one.
_NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?(?=[jJ]?(?![\w.]))")
#: Numbers of one program that are tried, at most.
_MOST = 12

Parts = tuple[ReproBody, ReproAssertion]


def collect_private_numbers(captured: CapturedCall) -> frozenset[float]:
    """The numbers that the program would be recognised by, wherever it has them from: constants of
    its text, sizes of its tensors, arguments of the operators that it calls.
    """
    words = captured.surroundings.collect_public_words()
    own = collect_private_terms(captured.material.sources, words, sizes=captured.collect_sizes())
    arguments = collect_private_terms({}, words)
    for graph, _ in captured.material.captures:
        read = collect_private_terms(
            {"arguments.py": f"{sorted(set(_list_numbers(graph.get('nodes'))))}"}, words
        )
        arguments = arguments.join(read)
    return (
        own.everywhere.numbers
        | own.in_code.numbers
        | arguments.everywhere.numbers
        | arguments.in_code.numbers
    )


def _list_numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _list_numbers(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _list_numbers(item)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        yield abs(value)


def substitute_generic_numbers(
    parts: Parts, private: frozenset[float], pool: WorkerPool, shows: Callable[[Answer], bool]
) -> tuple[Parts, frozenset[float]]:
    """The program with a generic number in the place of each private one that need not be there,
    and the private ones without which the failure is not there.

    Args:
        parts: the reduced program and what is compared.
        private: from `collect_private_numbers`.
        pool: workers of the user's interpreter.
        shows: whether an answer shows the wanted failure.
    """
    body, assertion = parts
    called = {abs(float(size)) for call in assertion.calls for size in _list_numbers(call)}
    needed: set[float] = set()
    for value in sorted(collect_numbers(body) & private - called, reverse=True)[:_MOST]:
        others = [_replace_value(body, value, other) for other in list_generic_numbers(value)]
        asked = [pool.submit(format_program(render_harness(other, assertion))) for other in others]
        good = [other for other, answer in zip(others, asked) if shows(answer.result())]
        body = good[0] if good else body
        needed |= set() if good else {value}
    return (body, assertion), frozenset(needed)


def list_needed_numbers(text: str, needed: frozenset[float]) -> tuple[float, ...]:
    """Those of the needed numbers that are in a final text; whole ones as such."""
    found = {float(token[0].replace("_", "")) for token in _NUMBER.finditer(text)} & needed
    return tuple(int(value) if value.is_integer() else value for value in sorted(found))


def collect_numbers(body: ReproBody) -> frozenset[float]:
    """The numbers in the text of a program and of its inputs."""
    text = "\n".join((body.definitions, body.callable, *body.inputs))
    sizes = (float(size) for _, size in body.sizes)
    return frozenset(
        [*(float(token[0].replace("_", "")) for token in _NUMBER.finditer(text)), *sizes]
    )


def list_generic_numbers(value: float) -> list[float]:
    """Generic numbers near a value, which identify no program: powers of two and their
    neighbours, round ones.
    """
    if not value or not math.isfinite(value):
        return []
    digits = 10.0 ** math.floor(math.log10(value))
    if not digits or not math.isfinite(10 * digits):  # at the ends of what a float holds
        return []
    rounded = math.floor(value / digits + 0.5) * digits
    if not float(value).is_integer():
        return list(
            dict.fromkeys(float(f"{other:.6g}") for other in (rounded, digits, 10 * digits))
        )
    above = 1 << (int(value) - 1).bit_length()
    found = (above // 2, above, above - 1, int(rounded), int(10 * digits))
    most = sys.float_info.max
    return [other for other in dict.fromkeys(found) if other != value and 0 < other <= most]


def _replace_value(body: ReproBody, value: float, other: float) -> ReproBody:
    def change(text: str) -> str:
        return _NUMBER.sub(lambda token: _write(token[0], value, other), text)

    return replace(
        body,
        definitions=change(body.definitions),
        callable=change(body.callable),
        inputs=tuple(change(line) for line in body.inputs),
        sizes=tuple((name, int(other) if size == value else size) for name, size in body.sizes),
    )


def _write(token: str, value: float, other: float) -> str:
    if float(token.replace("_", "")) != value:
        return token
    return repr(int(other)) if token.replace("_", "").isdigit() else repr(float(other))
