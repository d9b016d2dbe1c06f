"""What is claimed of an issue, from what its program did and what the tool made of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from reporter.core.kinds import Kind, Layer, RungOutcome
from reporter.tracker.duplicates import PossibleDuplicate
from reporter.tracker.repository import parse_issue
from reporter.triage.attempt import Attempt, Attempts
from reporter.triage.decision import choose_best_run, decide
from reporter.triage.reading.blocks import parse_blocks
from reporter.triage.reading.repro_selection import Refusal, Repro, extract
from reporter.triage.reading.stated_failure import (
    StatedException,
    StatedFailure,
    compare,
    find_exceptions,
    pick_exception,
    read_stated,
)
from reporter.triage.reading.thread import Post, Thread
from reporter.triage.result import MinimalRepro, Triage
from reporter.triage.sandboxed_verdict import (
    CommandMeasurements,
    CommandVerdict,
    FailureMarks,
    read,
)
from reporter.triage.suggestions import ALLOWED, render_comment, suggest_labels

LOWERING = "LoweringException: AssertionError: index_expr of 7 dims expected"
CRASH = StatedFailure(
    "raises",
    (StatedException("LoweringException", "AssertionError: index_expr of 7 dims expected"),),
)
ACCEPTS = StatedFailure("wrong", accepts=True)
INDEX = StatedFailure(
    "raises", (StatedException("IndexError", "tuple index out of range (a variant of #1795)"),)
)
WRONG, DIES, HANGS, UNKNOWN = (
    StatedFailure("wrong"),
    StatedFailure("dies"),
    StatedFailure("hangs"),
    StatedFailure("unknown"),
)


def runs(
    outcome: str, match: str | None, failure: str = "", torch: str = "2.13.0", *more: Attempt
) -> Attempts:
    first = Attempt(outcome, match, failure, "", 1.0)  # type: ignore[arg-type]
    return Attempts(torch, "3.11.7", (first, *more))


def verdict(kind: str, layer: str = "inductor") -> CommandVerdict:
    return CommandVerdict(Kind(kind), Layer(layer))


PASSES, SAME, OTHER = (
    runs("passes", None),
    runs("fails", "same", "X: y"),
    runs("fails", "different", "X: y"),
)
CASES = [
    (CRASH, SAME, verdict("crash"), "reproduces"),
    (CRASH, SAME, CommandVerdict(trouble="it took too long"), "reproduces"),
    (CRASH, OTHER, verdict("crash"), "reproduces"),
    (CRASH, OTHER, verdict("wrong_result"), "different"),
    (CRASH, OTHER, verdict("invalid_program", "eager"), "no_bug"),
    (CRASH, PASSES, verdict("not_reproduced", "none"), "not_reproduced"),
    (CRASH, PASSES, verdict("graph_break", "dynamo"), "not_reproduced"),
    (CRASH, PASSES, CommandVerdict(trouble="no answer"), "cannot_judge"),
    (WRONG, SAME, verdict("precision_cast", "none"), "no_bug"),
    (WRONG, PASSES, verdict("wrong_metadata"), "reproduces"),
    (WRONG, OTHER, verdict("not_reproduced", "none"), "different"),
    (ACCEPTS, OTHER, verdict("invalid_program", "eager"), "not_reproduced"),
    (ACCEPTS, PASSES, verdict("accepts_invalid"), "reproduces"),
    (DIES, runs("dies", "same", "SIGFPE"), verdict("process_death"), "reproduces"),
    (HANGS, runs("hangs", "same"), None, "reproduces"),
    (WRONG, runs("hangs", "different"), None, "cannot_judge"),
    (WRONG, runs("stopped", None), None, "cannot_judge"),
    (UNKNOWN, PASSES, verdict("wrong_result"), "reproduces"),
    (
        UNKNOWN,
        runs("fails", "unclear", "X: y"),
        verdict("not_reproduced", "none"),
        "reproduces",
    ),
]


@pytest.mark.parametrize(("says", "ran", "judged", "status"), CASES)
def test_the_status(
    says: StatedFailure, ran: Attempts, judged: CommandVerdict | None, status: str
) -> None:
    found, sentence = decide(says, [ran], judged)
    assert found == status
    assert sentence.endswith(".") and "2.13.0" in sentence


@pytest.mark.parametrize(
    ("says", "signal", "late", "stderr", "match"),
    [
        (CRASH, None, False, f"torch._inductor.exc.{LOWERING}", "same"),
        (CRASH, None, False, f"torch._inductor.exc.{LOWERING.replace('7', '12')}", "same"),
        (CRASH, None, False, "LoweringException: RuntimeError: no kernel", "different"),
        (INDEX, None, False, "InductorError: IndexError: tuple index out of range", "same"),
        (CRASH, None, False, "torch._dynamo.exc.Unsupported: call_method", "different"),
        (CRASH, None, False, "ImportError: no torch.foo", "different"),
        (CRASH, "SIGSEGV", False, "", "different"),
        (
            StatedFailure("raises", (StatedException("Unsupported", ""),)),
            None,
            False,
            "Unsupported: a thing",
            "unclear",
        ),
        (WRONG, None, False, "AssertionError: Tensor-likes are not close!", "same"),
        (WRONG, None, False, "NameError: name 'x' is not defined", "different"),
        (DIES, "SIGSEGV", False, "", "same"),
        (DIES, None, False, "RuntimeError: x", "different"),
        (HANGS, None, True, "", "same"),
        (UNKNOWN, None, False, "RuntimeError: x", "unclear"),
    ],
)
def test_the_same_failure(
    says: StatedFailure, signal: str | None, late: bool, stderr: str, match: str
) -> None:
    assert compare(says, signal, late, stderr) == match


@pytest.mark.parametrize(
    ("found", "chosen"),
    [
        ([PASSES, SAME, OTHER], 1),
        ([PASSES, OTHER], 1),
        ([PASSES, PASSES], 0),
        ([runs("fails", "same", torch="2.9.1+cpu"), runs("fails", "same", torch="2.13.0+cpu")], 1),
        ([runs("fails", "same", torch="2.9.0+cpu"), runs("fails", "same", torch="2.9.1+cpu")], 1),
        ([runs("fails", "same", torch="2.9.1+cpu"), runs("fails", "same", torch="2.9.1+xpu")], 0),
    ],
)
def test_the_newest_torch_in_which_it_fails_as_stated_is_gone_on_with(
    found: list[Attempts], chosen: int
) -> None:
    assert choose_best_run(found) == chosen


def test_what_a_compiler_complained_of_is_the_message() -> None:
    log = (
        "CppCompileError: C++ compile error\n\nCommand:\ng++ x\n\n"
        "Output:\nx.cpp:3:4: error: no matching function\n"
    )
    assert find_exceptions(log) == (
        StatedException("CppCompileError", "error: no matching function"),
    )


TORCHS_FRAME = (
    '  File "/x/site-packages/torch/_inductor/lowering.py", line 7, in pool\n'
    "    assert dilation == 1\n"
)
OWN_FRAME = '  File "/x/mine.py", line 7, in <module>\n    assert same(a, b)\n'
#: As torch's collect_env writes it.
COLLECTED = (
    "Collecting environment information...\nPyTorch version: 2.6.0\nIs debug build: False\n\n"
    "Vulnerability Spec store bypass: Mitigation; disabled via prctl (SIGSEGV on 5.4)\n"
    "Vulnerability Tsx async abort: Not affected\n"
)
STATED = [
    ("Wrong result", f"```\n{OWN_FRAME}AssertionError\n```", "wrong"),
    ("Pooling fails", f"```\n{TORCHS_FRAME}AssertionError\n```", "raises"),
    (
        "Wrong",
        '```\n  File "/x/torch/testing/_comparison.py", line 7, in f\n'
        "AssertionError: Tensor-likes are not close!\n```",
        "wrong",
    ),
    (
        "`LoweringException: AssertionError: max not supported` in pooling",
        "Eager is fine.",
        "raises",
    ),
    ("cumsum fails: IndexError: tuple index out of range (again)", "", "raises"),
    (
        "index check is lost",
        "Eager raises `IndexError: index out of range in self`, the compiled one returns a row"
        " instead of raising an error.",
        "wrong",
    ),
    ("compile skips the out-of-range check of select", "", "wrong"),
    ("out of bound read", "", "wrong"),
    ("It fails", "```\n/tmp/x/cs.cpp:18:30: error: no match for 'operator&'\n```", "raises"),
    ("remainder by zero", "```\nFloating point exception (core dumped)\n```", "dies"),
    ("A title", "Some words.", "unknown"),
    ("torch.compile aborts with RuntimeError: no kernel for this", "", "raises"),
    (
        "It fails",
        f"torch.compile aborts\n```\n{TORCHS_FRAME}RuntimeError: no kernel\n```",
        "raises",
    ),
    (
        "It fails",
        f"```\nSegmentation fault on 2.5\n{TORCHS_FRAME}RuntimeError: no kernel\n```",
        "raises",
    ),
    ("It fails", "```\nFatal Python error: Aborted\n\nThread 0x1:\n```", "dies"),
    ("Wrong result", COLLECTED, "wrong"),
    ("Wrong result", f"### Versions\n\n```\n{COLLECTED}```", "wrong"),
    ("Wrong result", f"<details>\n\n```\n{COLLECTED}```\n\n</details>", "wrong"),
    ("Wrong result", "### Versions\n\nAMD, with the segfault patch of the kernel", "wrong"),
]


@pytest.mark.parametrize(("title", "body", "sort"), STATED)
def test_what_an_issue_states(title: str, body: str, sort: str) -> None:
    assert read_stated(Thread("x", title, (Post("kim", body),))).sort == sort


@pytest.mark.parametrize(
    ("body", "version"),
    [
        ("PyTorch version: 2.6.0+cpu\nworks on torch 2.5.1", "2.6.0+cpu"),
        ("It fails on torch 2.13.0+cu130, on CPU.", "2.13.0+cu130"),
        ("PyTorch 2.12.1 is fine, PyTorch 2.13.0 is not.", None),
        ("PyTorch 2.9 and below works.", None),
    ],
)
def test_the_release_that_an_issue_is_about(body: str, version: str | None) -> None:
    assert read_stated(Thread("x", "A title", (Post("kim", body),))).torch == version


def test_what_says_nothing_is_read_in_no_time() -> None:
    """A pattern with two ways to read a row of names would take 2 ** 45 steps."""
    said = "RuntimeError: " + "aError" * 45 + "!"
    (stated,) = read_stated(Thread("x", "It fails", (Post("kim", f"```\n{said}\n```"),))).raised
    assert pick_exception((stated,)) is stated
    assert (
        pick_exception((StatedException("InductorError", "torch.X.AError: BException:"),)) is None
    )


@pytest.mark.parametrize("prefix", ["[rank0]: ", "[default0]:", "[default12]:[rank12]: "])
def test_the_log_of_torchrun_is_a_log(prefix: str) -> None:
    log = "".join(f"{prefix}{line}\n" for line in f"{TORCHS_FRAME}ValueError: no".split("\n"))
    assert find_exceptions(log) == (StatedException("ValueError", "no", by_torch=True),)
    assert find_exceptions(log)[0].by_torch


def test_an_assertion_of_torchs_own_says_nothing_of_values() -> None:
    assert compare(WRONG, None, False, TORCHS_FRAME + "AssertionError: n") == "different"
    assert compare(WRONG, None, False, OWN_FRAME + "AssertionError: n") == "same"
    bare = StatedFailure("raises", (StatedException("AssertionError", "", True),))
    assert (
        compare(bare, None, False, "LoweringException: AssertionError: \n  target: x") == "unclear"
    )
    assert compare(bare, None, False, "LoweringException: IndexError: x") == "different"
    compiler = StatedFailure("raises", (StatedException("CppCompileError", "C++ compile error"),))
    told = "CppCompileError: C++ compile error\n\nOutput:\nx.cpp:3:4: error: no match\n"
    assert compare(compiler, None, False, told) == "unclear"


def triaged(**more: object) -> Triage:
    thread = Thread("o/r#1", "A title", (Post("kim", "text"),), parse_issue("o/r#1"))
    repro = Repro("import torch\n", "kim", 0, "", (), ("torch",), (), "the author's")
    result = Triage(
        thread, "reproduces", "It fails.", CRASH, repro, None, (SAME,), verdict("crash")
    )
    return replace(result, **more)  # type: ignore[arg-type]


def test_labels_are_those_that_the_evidence_supports() -> None:
    assert suggest_labels(triaged()) == ("module: inductor",)
    forged = replace(
        verdict("crash"), marks=FailureMarks(labels=("high priority", "module: dynamo", "triaged"))
    )
    assert suggest_labels(triaged(judged=forged)) == ("module: dynamo",)
    assert suggest_labels(triaged(judged=verdict("rounding", "none"), status="no_bug")) == ()
    both = (runs("passes", None, "", "2.6.0"), SAME)
    assert suggest_labels(triaged(runs=both)) == ("module: inductor", "module: regression")
    fixed = (runs("fails", "same", "", "2.6.0"), PASSES)
    assert suggest_labels(triaged(runs=fixed)) == ("module: inductor",)
    seen = {"2.6.0": "passes", "2.13.0": "fails"}
    assert "module: regression" in suggest_labels(
        triaged(runs=both, minimal=MinimalRepro("x", 1, (), seen))
    )
    assert all(label in ALLOWED for label in suggest_labels(triaged(runs=both)))


EVIL = (
    "```\n# Heading\n@everyone <img src=x onerror=alert(1)> [a](http://evil) |x| \\| `code` ``\n"
    "<!-- bugreport-key: 0 -->"
)


def test_a_strangers_text_is_no_markdown_in_the_comment() -> None:
    shown = Attempt("fails", "same", EVIL.replace("\n", " "), EVIL + "\nTraceback\n", 1.0)
    result = triaged(
        runs=(Attempts("2.13.0", "3.11.7", (shown,)),),
        judged=replace(
            verdict("crash"), measured=CommandMeasurements(((EVIL, RungOutcome.RAISES),))
        ),
        minimal=MinimalRepro("import torch\n# ```\n# @everyone", 1, ("sin",), {"2.13.0": "fails"}),
        duplicates=(PossibleDuplicate(0.9, ("r",), EVIL, "https://github.com/o/r/issues/7", 7),),
    )
    text = render_comment(result)
    # without its code, fenced or in spans, nothing of the stranger's is left
    for block in parse_blocks(text):
        text = text.replace(block.text, "")
    text = re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", text)
    for word in ("Heading", "everyone", "onerror", "evil", "bugreport-key"):
        assert word not in text
    assert "written by the tool bugreport" in text and "- #7" in text
    rows = [line for line in render_comment(result).split("\n") if line.startswith("| `2.13.0`")]
    assert len(rows) == 1 and len(re.findall(r"(?<!\\)\|", rows[0])) == 6


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (
            '{"@pytorch-bot merge #1 ![x](//evil) <!-- ": print}["k"](pretrained=True)',
            "It could not be run: it needs weights that are not in it (line 2).",
        ),
        (
            "__net__.lib._C_(pretrained=True)",
            "It could not be run: it needs weights that are not in it: line 2 calls"
            " `__net__.lib._C_`.",
        ),
        (
            "print(__all__, _x_)",
            "It could not be run: its code is not self-contained: nothing defines `__all__`,"
            " `_x_`.",
        ),
    ],
)
def test_a_strangers_program_says_nothing_in_a_refusal(program: str, says: str) -> None:
    text = f"```python\nimport torch\n{program}\n"
    if "__net__" in program:
        text += "__net__ = torch\n"
    thread = Thread("o/r#1", "A title", (Post("kim", f"{text}print(torch.ones(1))\n```"),))
    refusal = extract(thread)
    assert isinstance(refusal, Refusal)
    comment = render_comment(
        Triage(thread, "not_actionable", "", UNKNOWN, refusal=refusal)  # type: ignore[arg-type]
    )
    assert says in comment.splitlines()[0]


def test_a_reduced_program_stands_in_the_comment_as_a_whole() -> None:
    text = "".join(f"é{number:06}\n" for number in range(3000))
    minimal = MinimalRepro(text, 1, (), {"2.13.0": "fails"})
    assert text in render_comment(triaged(minimal=minimal))


def test_our_own_words_are_no_code_in_the_comment() -> None:
    repro = Repro("x", "kim", 0, "", (), (), ("added `import torch`",), "the author's")
    text = render_comment(triaged(repro=repro))
    assert "in **inductor**. Eager mode runs the call" in text and "\n- added `import" in text


@pytest.mark.parametrize(
    ("url", "reference"),
    [
        ("https://github.com/o/r/issues/7", "#7"),
        ("https://github.com/o/other/issues/7", "o/other#7"),
        ("https://github.example.com/o/r/issues/7", "https://github.example.com/o/r/issues/7"),
        ("/home/kim/bugreport-report", None),
    ],
)
def test_a_duplicate_is_referred_to_where_it_is(url: str, reference: str | None) -> None:
    found = (PossibleDuplicate(0.9, ("r",), "A title", url, 7),)
    lines = render_comment(triaged(duplicates=found)).splitlines()
    said = [line for line in lines if line.startswith("- ")]
    assert said == ([f"- {reference}"] if reference else [])
    assert ("This may be the same as:" in lines) is (reference is not None)


def test_there_is_a_comment_only_where_there_is_something_to_say() -> None:
    assert render_comment(triaged(status="cannot_judge")) == ""
    assert "does not fail here" in render_comment(triaged(status="not_reproduced", runs=(PASSES,)))
    # both sides refuse by now: the program fails, but not as the issue says
    assert "What the issue states does not show" in render_comment(triaged(status="not_reproduced"))


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"document": 3},
        {"document": {"verdict": {"kind": "crash\x1b[31m", "layer": "inductor"}}},
        {"document": {"verdict": {"kind": "crash", "layer": "<b>"}}},
    ],
)
def test_an_answer_of_the_sandbox_that_is_none(answer: object) -> None:
    found = read(answer)
    assert not found.kind and not found.is_bug and found.trouble


def test_an_answer_of_the_sandbox_is_cleaned() -> None:
    found = read(
        {
            "document": {
                "verdict": {
                    "kind": "crash",
                    "layer": "inductor",
                    "is_bug": False,
                    "summary": "a\x1b[2J\nb" * 900,
                },
                "ladder": [
                    {"rung": "x\u202e", "outcome": "raises"},
                    {"rung": "rounding explains it all, close this", "outcome": "ok"},
                    {"rung": "ea\u200bger", "outcome": "raises", "max_abs_error": 10**400},
                    {"rung": "y", "outcome": "<script>"},
                    4,
                ],
                "labels": ["ok", 5, "b\x07"],
                "repro": {"statements": -1, "operators": "sin"},
            },
            "files": {"repro.py": "x\x1b[31m" * 50_000},
        }
    )
    assert found.is_bug and found.measured.ladder == (("eager", "raises"),)
    assert found.measured.errors.largest is None
    assert "J" not in found.summary and found.summary.startswith("Eager mode runs the call")
    assert "\x1b" not in found.repro.text
    assert len(found.repro.text) <= 20000 and found.repro.statements == 0


def test_whether_it_is_a_bug_follows_from_the_kind() -> None:
    told = {"kind": "not_reproduced", "layer": "none", "is_bug": True}
    assert not read({"document": {"verdict": told}}).is_bug
