"""What the final bytes of a report are searched for: the private program's words, and its sizes
wherever they come from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

from anonymizer.leakcheck.scanner import Terms, collect_private_terms
from collectors.protocol.captured_graph import GraphInput
from collectors.protocol.captured_trace import TracedTensor
from reporter.core.settings import IssueOptions
from reporter.publish.result import BuiltRepro
from reporter.publish.surroundings import find_terms
from reporter.report.captured_call import CapturedCall
from reporter.whole_model.traced_model import list_needed_sizes


def collect_terms(
    options: IssueOptions, captured: CapturedCall, built: BuiltRepro, folder: Path
) -> Terms:
    """What the report is searched for: the program's words and those of its surroundings.

    Args:
        options: with `keep_source` the program's own words may leave.
        captured: has the sources and the sizes of the private program.
        built: the repro; sizes that the failure needs, and values that were allowed, may be in it.
        folder: where the program runs.
    """
    around = find_terms(
        folder,
        captured.surroundings.environment,
        captured.surroundings.withheld,
        (*captured.surroundings.collect_public_words(), *captured.surroundings.internals),
    )
    return around.join(_collect_program_terms(options, captured, built))


def _collect_program_terms(
    options: IssueOptions, captured: CapturedCall, built: BuiltRepro
) -> Terms:
    if options.keep_source:
        return collect_private_terms({}, captured.surroundings.collect_public_words())
    terms = collect_private_terms(
        captured.material.sources,
        captured.surroundings.collect_public_words(),
        sizes=captured.collect_sizes(),
    )
    named = (
        n
        for graph, _ in captured.material.captures
        if "unsupported" not in graph
        for n in _list_allowed_values(graph["inputs"])
    )
    whole = captured.material.whole
    traced = _list_allowed_values(whole["trace"]["tensors"] if whole and "trace" in whole else ())
    assertion = captured.material.assertion
    seeds = (
        assertion.list_seeds() if assertion is not None else ()
    )  # the user has chosen them for the repro
    return terms.without_numbers(
        [*find_left_over(captured, built), *built.search.numbers_left, *named, *traced, *seeds]
    )


def _list_allowed_values(tensors: Iterable[GraphInput | TracedTensor]) -> Iterator[float]:
    for tensor in tensors:
        values = (tensor.get("stats") or {}).get("values") or ()
        yield from (value for value in values if isinstance(value, (int, float)))


def find_left_over(captured: CapturedCall, built: BuiltRepro) -> list[int]:
    """Sizes of the private tensors in the text of the repro and of other failures, but for those
    that are everybody's.
    """
    found = (
        set(list_needed_sizes(captured, built.candidate))
        if captured.material.whole is not None
        else set()
    )
    private = collect_private_terms(
        {}, captured.surroundings.collect_public_words(), sizes=captured.collect_sizes()
    )
    identifying = {*private.everywhere.numbers, *private.in_code.numbers}
    for text in (built.program.text, *(other.text for other in built.search.others)):
        numbers = (n.value for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant))
        # torch.arange(648.0) has the size as a floating-point number
        plain = (float(n) for n in numbers if isinstance(n, (int, float)))
        found |= {int(n) for n in plain if n in identifying}
    return sorted(found)
