"""Numbers of a whole program become nobody's, as far as the failure stays: all at once, or as many
as it allows.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import pytest

from anonymizer.graph.repro import ReproAssertion
from anonymizer.source.program import SourceProgram
from reporter.core.candidate import Candidate
from reporter.reduce.candidate_questions import Questions
from reporter.reduce.scheduler import Scheduler
from reporter.reduce.source_candidates import RewrittenProgram
from reporter.whole_model.generic_numbers import replace_private_numbers
from tests.support.graphs import TextPool, failing

DEFINITIONS = """
def repro(x):
    return (x.view(6144, 2048) * 0.37219 + 0.5).clamp(max=161.8033)
"""
INPUTS = "return (torch.randn(12288, 1024),)"


def rewritten(fails: Callable[[str], bool], definitions: str = DEFINITIONS) -> tuple[str, int]:
    """The text that is left of a program that fails where `fails` says so, and how many were
    asked.
    """
    program = SourceProgram(ast.parse(definitions), "repro", ast.parse(INPUTS))
    pool = TextPool(failing(fails))
    ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
    found = replace_private_numbers(
        Candidate(RewrittenProgram(program), ReproAssertion("crash")), ask
    )
    return found.render(), len(pool.asked)


def numbers(text: str) -> list[str]:
    return re.findall(r"view\((\d+), (\d+)\) \* ([\d.]+) \+ ([\d.]+)\)\.clamp\(max=([\d.]+)", text)[
        0
    ]


def test_where_no_number_matters_all_go_at_once() -> None:
    text, asked = rewritten(lambda _: True)
    rows, columns, factor, half, most = numbers(text)
    assert asked == 1
    assert (factor, half, most) == ("0.4", "0.5", "200.0")  # 0.5 is nobody's
    assert int(rows) == 6 * int(columns) // 2  # still multiples of one number
    made = re.search(r"randn\((\d+), (\d+)\)", text)
    assert made and int(made[1]) == 2 * int(rows) and int(columns) == 2 * int(made[2])
    assert not re.search(r"6144|2048|12288|1024|37219|8033", text)


def test_a_number_that_the_failure_needs_stays_and_the_others_go() -> None:
    text, _ = rewritten(lambda text: "0.37219" in text)
    rows, _, factor, _, most = numbers(text)
    assert factor == "0.37219" and most == "200.0" and rows != "6144"


def test_a_size_that_the_failure_needs_keeps_no_other_one() -> None:
    """6,144 is six times 1,024, and may have nothing to do with it."""
    text, _ = rewritten(lambda text: "6144" in text)
    rows, columns, factor, _, most = numbers(text)
    assert rows == "6144" and columns != "2048" and (factor, most) == ("0.4", "200.0")


def test_where_every_number_matters_the_program_stays() -> None:
    before = rewritten(lambda _: False)[0]
    assert numbers(before) == ("6144", "2048", "0.37219", "0.5", "161.8033")


@pytest.mark.parametrize("values", ["8", "2, 4", "0.5"])
def test_numbers_of_everybody_ask_nothing(values: str) -> None:
    definitions = f"def repro(x):\n    return x.roll(({values},))\n"
    program = SourceProgram(ast.parse(definitions), "repro", ast.parse("return (torch.ones(4),)"))
    pool = TextPool(failing(lambda _: True))
    ask = Questions(Scheduler(pool, lambda answer: answer.outcome == "fails"), lambda _: None)
    seed = Candidate(RewrittenProgram(program), ReproAssertion("crash"))
    assert replace_private_numbers(seed, ask) is seed and pool.asked == []
