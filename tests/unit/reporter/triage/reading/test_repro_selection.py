"""Issues as people write them: each file in data/issues, with what has to be found in it, stands in
expected.json.
"""

from __future__ import annotations

import ast
import json
import random
from typing import Any

import pytest

from reporter.core.errors import UsageError
from reporter.lint.safety_list import TABLE, find_unsafe_statements
from reporter.triage.cpu_port import replace_devices
from reporter.triage.reading.blocks import Block, parse_blocks
from reporter.triage.reading.code import parse_program
from reporter.triage.reading.repro_selection import Refusal, Repro, extract, find_devices
from reporter.triage.reading.safety import find_flags
from reporter.triage.reading.stated_failure import read_stated
from reporter.triage.reading.thread import Post, Thread, read_file, read_text
from tests.support.places import DATA

ISSUES = DATA / "issues"
EXPECTED: dict[str, dict[str, Any]] = json.loads((ISSUES / "expected.json").read_text())
FENCE = "```"
PROGRAM = "import torch\nx = torch.ones(2)\nassert torch.compile(torch.sin)(x).equal(x.sin())\n"


def test_every_issue_is_expected() -> None:
    assert {path.name for path in ISSUES.iterdir()} - {"expected.json"} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_repro_is_found_or_why_there_is_none(name: str) -> None:
    wanted = EXPECTED[name]
    thread = read_file(ISSUES / name)
    found = extract(thread)
    if "refusal" in wanted:
        assert isinstance(found, Refusal) and found.kind == wanted["refusal"], found
    else:
        assert isinstance(found, Repro), found
        ast.parse(found.text)
        assert wanted["repro"] in found.text
        assert "lacks" not in wanted or wanted["lacks"] not in found.text
        assert found.author == wanted.get("author", thread.author)
        assert found.post == wanted.get("post", 0)
        assert sorted({flag.kind for flag in found.flags}) == wanted.get("flags", [])
        assert list(find_devices(found.text)) == wanted.get("devices", [])
    says = read_stated(thread)
    assert says.sort == wanted.get("sort", says.sort)
    assert says.torch == wanted.get("torch", says.torch)
    assert wanted.get("stated", "") in says.describe()


def issue(text: str, *comments: tuple[str, str], author: str = "alice") -> Thread:
    posts = [Post(author, text), *(Post(who, said) for who, said in comments)]
    return Thread("test", "a title", tuple(posts))


def test_direction_marks_are_taken_out_and_told() -> None:
    hidden = PROGRAM.replace("x = ", "\u202e\u2066x\u200b = ").replace(
        "import torch", "\ufeffimport\u00a0torch"
    )
    found = extract(issue(f"{FENCE}python\n{hidden}{FENCE}\n"))
    assert isinstance(found, Repro) and found.text == PROGRAM
    assert any("invisible" in change for change in found.changes)


@pytest.mark.parametrize("ends", ["\r\n", "\r", "\n"])
def test_line_ends(ends: str) -> None:
    text = f"Hello\n\n{FENCE}python\n{PROGRAM}{FENCE}\n".replace("\n", ends)
    found = extract(issue(text))
    assert isinstance(found, Repro) and found.text == PROGRAM


@pytest.mark.parametrize(
    "filler",
    [
        "word " * 12_000,
        "[" * 60_000,
        "> " * 30_000,
        "- " * 30_000,
        "```\n" * 14_999,
        "<details>\n" * 6_000,
        "*a **b " * 8_500,
        "x = (\n" * 10_000,
        "import torch\n" * 4_600,
        "`" * 60_000,
        "\u202e" * 60_000,
        "&lt;" * 15_000,
        "\n" * 60_000,
        "Limit" * 12_000,
        "![" * 30_000,
        "<details>" + " " * 59_000 + "x",
        "<![" * 20_000,
        "<pre>" * 12_000,
        "A." * 30_000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_sixty_thousand_characters(filler: str) -> None:
    found = extract(issue(f"{FENCE}python\n{PROGRAM}{FENCE}\n\n{filler[:60_000]}\n"))
    assert isinstance(found, Repro) and PROGRAM in found.text
    assert isinstance(extract(issue(filler[:60_000])), (Repro, Refusal))
    assert read_stated(issue(filler[:60_000])).torch is None


@pytest.mark.parametrize(
    "deep",
    ["x" + ".a" * 5000 + "()", "f" + "()" * 5000, "(" * 90 + "1" + ")" * 90, "-" * 5000 + "1"],
)
def test_programs_that_are_nested_deeply(deep: str) -> None:
    found = extract(issue(f"{FENCE}python\n{PROGRAM}{deep}\n{FENCE}\n"))
    assert isinstance(found, (Repro, Refusal))


def test_text_of_any_sort_is_read() -> None:
    """Pieces of Markdown, HTML and Python in any order end in a repro or a refusal, never in an
    exception.
    """
    pieces = [
        FENCE,
        "~~~",
        "python",
        "\n",
        "\n\n",
        "    ",
        "> ",
        "- ",
        "1. ",
        "<pre>",
        "</pre>",
        "<details>",
        "<!--",
    ]
    pieces += [
        "import torch",
        "x = torch.ones(2)",
        "torch.compile(f)(x)",
        ">>> ",
        "... ",
        "def f(:",
        "'''",
        "\\",
        "\0",
    ]
    pieces += [
        "Traceback (most recent call last):",
        "ValueError: no",
        "### Versions",
        "\u202e",
        "%time",
        "!pip install x",
    ]
    chance = random.Random(0)
    for _ in range(400):
        text = "".join(chance.choice(pieces) + chance.choice(["", " ", "\n"]) for _ in range(40))
        thread = issue(text, ("bob", text[::-1]))
        found = extract(thread)
        assert isinstance(found, (Repro, Refusal))
        read_stated(thread)
        if isinstance(found, Repro):
            ast.parse(found.text)


def test_a_commenters_quotation_is_not_a_repro() -> None:
    quoted = "".join(f"> {line}\n" for line in f"{FENCE}python\n{PROGRAM}{FENCE}".split("\n"))
    assert isinstance(extract(issue("It fails.", ("bob", quoted))), Refusal)


def test_the_section_of_a_block() -> None:
    text = f"### Versions\n\n{FENCE}\ntorch 2\n{FENCE}\n\nBug\n---\n\n{FENCE}py\nx\n{FENCE}\n"
    assert [(b.section, b.language) for b in parse_blocks(text)] == [
        ("versions", ""),
        ("bug", "py"),
    ]


@pytest.mark.parametrize("language", ["cpp", "diff", "console", "json"])
def test_other_languages_are_no_python(language: str) -> None:
    assert parse_program(Block("import torch\nprint(torch.ones(1))\n", language)) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import requests", "network"),
        ("from urllib import request", "network"),
        ("from os import system as go\ngo('ls')", "shell"),
        ("import os\nos.execvp('ls', ['ls'])", "shell"),
        ("from torch import hub\nhub.load('a/b', 'c')", "network"),
        ("import torch as t\nt.load('x.pt')", "pickle"),
        ("__import__('os')", "eval"),
        ("open('/etc/passwd')", "file"),
        ("open('../x')", "file"),
        ("import shutil\nshutil.rmtree('/tmp/x')", "file"),
        ("import os\nos.environ['PATH'] = 'x'", "environment"),
        ("import os\nos.getenv('AWS_SECRET_ACCESS_KEY')", "environment"),
        ("x = '" + "QUJD" * 60 + "'", "encoded"),
        ("x = b'" + "\\x90" * 20 + "'", "encoded"),
        ("print('https://example.com/x')", "network"),
        ("import ctypes", "native"),
        ("(1).__class__.__subclasses__()", "eval"),
    ],
)
def test_the_safety_list(text: str, kind: str) -> None:
    assert kind in {flag.kind for flag in find_flags(text)}


@pytest.mark.parametrize(
    "text",
    [
        PROGRAM,
        "import os\nos.environ['TORCH_LOGS'] = '+dynamo'\nos.environ['CUDA_VISIBLE_DEVICES'] = ''",
        "import torch\ntorch.compile(lambda x: x)(torch.ones(1))",
        "import torch, tempfile\nopen('/tmp/x')",
        "model.eval()",
    ],
)
def test_what_is_not_on_the_safety_list(text: str) -> None:
    assert find_flags(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "import threading",
        "open('/tmp/x', 'w')",
        "import torch\ntorch.save(1, 'x')",
        "import torch\ntorch.distributed.init_process_group()",
        "def f(loader=DataLoader([], num_workers=2)): pass",
        r"x = '\x41\x42\x43'",
    ],
)
def test_what_a_repro_of_ours_may_not_do_is_no_warning_about_a_strangers(text: str) -> None:
    assert find_flags(text) == () and find_unsafe_statements(ast.parse(text), text)


def test_whatever_is_told_of_a_strangers_program_is_refused_in_ours() -> None:
    """Both read one table: there is no flag that the lint lacks."""
    text = "import socket, pickle\nfrom os import popen as p\np('ls')\neval('1')\n"
    refused = {(item.kind, item.line) for item in find_unsafe_statements(ast.parse(text), text)}
    told = {(flag.kind, flag.line) for flag in find_flags(text)}
    assert told and told <= refused and {kind for kind, _ in refused} <= set(TABLE)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\0\1", "is not text"),
        (b'{"comments": [3]}', "is not what"),
        (b'{"comments": 3}', "is not what"),
        (b"x" * (5 << 20), "no issue"),
    ],
)
def test_what_is_no_issue_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read_text(data, "file.md")


def test_the_text_of_gh_issue_view() -> None:
    data = (
        b"title:\tA bug\nstate:\tOPEN\nauthor:\tkim\nlabels:\toncall: pt2, feature\nnumber:\t7\n"
        b"--\nBody\n--\nmore\n"
    )
    thread = read_text(data, "x")
    assert (thread.title, thread.author, thread.status.labels) == (
        "A bug",
        "kim",
        ("oncall: pt2", "feature"),
    )
    assert thread.posts[0].text == "Body\n--\nmore\n"


@pytest.mark.parametrize(
    ("title", "text", "is_request"),
    [
        ("crash", "# 🚀 compile the model\n", False),
        ("[meta] crash", "", False),
        ("[RFC] crash", "", True),
    ],
)
def test_what_stands_in_a_program_makes_no_request(title: str, text: str, is_request: bool) -> None:
    posts = (Post("alice", f"{FENCE}python\n{text}{PROGRAM}{FENCE}\n"),)
    found = extract(Thread("test", title, posts))
    assert isinstance(found, Refusal) is is_request
    headed = extract(Thread("test", title, (Post("alice", f"# 🚀 The feature\n{PROGRAM}"),)))
    assert isinstance(headed, Refusal)


@pytest.mark.parametrize("line", ["%d things", ">>> torch.ones(2)", "!ls"])
def test_lines_in_a_string_are_no_prompts(line: str) -> None:
    program = f'"""A program.\n\n{line}\n"""\n{PROGRAM}'
    found = extract(issue(f"{FENCE}python\n{program}{FENCE}\n"))
    assert isinstance(found, Repro) and found.text == program and not found.changes


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("x = torch.ones(2, device='cuda')", 'x = torch.ones(2, device="cpu")'),
        ("x = f(torch.ones(2).cuda(), 'cuda:0')", 'x = f(torch.ones(2).cpu(), "cpu")'),
        (
            "if 1:\n    torch.cuda.synchronize()\nnet = net.to('cuda')",
            'if 1:\n    pass\nnet = net.to("cpu")',
        ),
        ("s = 'ü'; x = y.cuda()  # cuda", "s = 'ü'; x = y.cpu()  # cuda"),
        ("torch.cuda.set_device('cuda:0'); x.cuda()", "pass; x.cpu()"),
        ("wait = lambda: (\n    torch.cuda.synchronize()\n)\nx.cuda()", None),
        ("x = torch.ones(2, device='cuda')\nprint(torch.cuda.memory_allocated())", None),
        ("x = torch.ones(2)", None),
        ("x = y.cuda(0)", "x = y.cpu()"),
        ("x = y.cuda(non_blocking=True).sin()", "x = y.cpu().sin()"),
        ("x = y.cuda(torch.device('cuda:0')).cuda(z.cuda())", "x = y.cpu().cpu()"),
        ("x = (\n    y\n    .cuda(0)\n)", "x = (\n    y\n    .cpu()\n)"),
        ("x = y.cuda(\n    0\n)", None),
    ],
)
def test_a_program_moves_to_the_cpu_or_stays(text: str, moved: str | None) -> None:
    assert replace_devices(text) == moved


def test_a_title_is_read_in_no_time() -> None:
    title = "# It fails in C#" + " " * 60_000
    assert read_text(f"{title}#\n\nBody".encode(), "x").title == "It fails in C#"
    assert read_text(f"{title}x\n\nBody".encode(), "x").title == "It fails in C# x"


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("x.cuda(0)", ("cuda",)),
        ("x.cuda(non_blocking=True)", ("cuda",)),
        ("# torch.cuda.is_available() is True here\nx.cuda()", ("cuda",)),
        ("print('torch.cuda.is_available()', x.cuda())", ("cuda",)),
        ("x = x.cuda() if torch.cuda.is_available() else x", ()),
        ("device = 'cuda' if th.accelerator.is_available() else 'cpu'", ()),
        ("torch.backends.mps.is_available()\nx.to('mps')", ()),
    ],
)
def test_the_devices_that_a_program_cannot_do_without(text: str, devices: tuple[str, ...]) -> None:
    assert find_devices(text) == devices


@pytest.mark.parametrize(
    "info",
    ["python:repro.py", "python,ignore", "Python3.10", "py3", "{.python .numberLines}", "{python}",
     'py title="x"', ".python"],
)  # fmt: skip
def test_the_language_of_a_fence(info: str) -> None:
    found = extract(issue(f"{FENCE}{info}\n{PROGRAM}{FENCE}\n"))
    assert isinstance(found, Repro) and found.text == PROGRAM
    assert isinstance(extract(issue(f"{FENCE}c{info}\n{PROGRAM}{FENCE}\n")), Refusal)


FUTURE = "from __future__ import annotations\n"


@pytest.mark.parametrize("first", ["", FUTURE, f'"""A\ntext."""\n{FUTURE}', '"""A text."""\n'])
def test_an_import_of_ours_stands_where_it_may(first: str) -> None:
    program = "x = nn.ReLU()\ntorch.compile(x)(torch.ones(2))\n"
    found = extract(issue(f"{FENCE}python\n{first}{program}{FENCE}\n"))
    assert isinstance(found, Repro)
    assert found.text == f"{first}import torch.nn as nn\nimport torch\n{program}"
    compile(found.text, "", "exec")


def test_blocks_that_are_joined_compile() -> None:
    model = "class M(torch.nn.Module): pass\n"
    call = "torch.compile(M())(torch.ones(1))\n"
    for second in (call, FUTURE + call):
        text = f"{FENCE}python\n{model}{FENCE}\n\n{FENCE}python\n{second}{FENCE}\n"
        found = extract(issue(text))
        assert isinstance(found, Repro) is (second == call)


def test_the_class_of_a_method_is_defined() -> None:
    program = (
        "import torch\n\nclass M(torch.nn.Module):\n    name = __qualname__\n\n"
        "    def __init__(self):\n        super(__class__, self).__init__()\n\ntorch.compile(M())\n"
    )
    found = extract(issue(f"{FENCE}python\n{program}{FENCE}\n"))
    assert isinstance(found, Repro) and found.text == program


def test_strings_keep_their_white_space() -> None:
    odd = "a\tb\u00a0c\x0c\x07"
    program = f'{PROGRAM}print("{odd}")\nprint("""\n  \n""")\n'
    found = extract(issue(f"{FENCE}python\n{program}{FENCE}\n"))
    assert isinstance(found, Repro) and found.text == program and not found.changes
    broken = program.replace("import torch", "import\u00a0torch")
    found = extract(issue(f"{FENCE}python\n{broken}{FENCE}\n"))
    assert isinstance(found, Repro) and 'print("a    b c")' in found.text
    assert any("white space" in change for change in found.changes)


@pytest.mark.parametrize("first", ["{", '{"a": 1} is not traced', "{torch.compile} fails"])
def test_markdown_may_begin_with_a_brace(first: str) -> None:
    thread = read_text(f"{first}\n\n{FENCE}python\n{PROGRAM}{FENCE}\n".encode(), "x.md")
    found = extract(thread)
    assert isinstance(found, Repro) and found.text == PROGRAM
