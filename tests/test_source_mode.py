"""Source mode: private programs rebuilt as public ones. Gathering and running happen where torch is, in two processes."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from anonymizer import source_reduce
from anonymizer.names import Names
from anonymizer.source import SourceError, SourceProgram, rebuild, rebuild_backend
from anonymizer.source_program import is_simple
from anonymizer.source_tensors import tensor_expression
from anonymizer.source_tidy import renumber, tidy, undefined
from tests.source_scripts import GATHER, LIBRARY, RUN, SCRIPTS

COLLECTORS = Path(__file__).parent.parent / "collectors"


def text_of(program: SourceProgram) -> str:
    """A complete module in the manner of a repro, without its check."""
    inputs = ["def inputs():", *("    " + line for line in program.inputs_lines())]
    call = f"def CALLABLE():\n    return {program.callable_expression}"
    return "\n".join([*program.imports(), program.definitions_text(), *inputs, call, ""])


@pytest.fixture(scope="module")
def gathered(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What the target side says about every script, and torch's words."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("this interpreter has no torch to gather with")
    folder = tmp_path_factory.mktemp("private")
    for name, script in SCRIPTS.items():
        (folder / f"{name}.py").write_text(script, encoding="utf-8")
    (folder / "secret_library").mkdir()
    (folder / "secret_library" / "__init__.py").write_text("")
    (folder / "secret_library" / "secret_tools.py").write_text(LIBRARY)
    out = folder / "out.json"
    run(GATHER, str(folder), str(COLLECTORS), str(out), *SCRIPTS)
    answers: Mapping[str, Any] = json.loads(out.read_text())
    return answers


def run(script: str, *arguments: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def programs(gathered: Mapping[str, Any]) -> dict[str, SourceProgram]:
    words = gathered["vocabulary"]
    return {name: rebuild(made["gathered"], words) for name, made in gathered["scripts"].items()}


@pytest.fixture(scope="module")
def results(
    programs: dict[str, SourceProgram], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What the public programs return, seen from outside; a traceback where one fails."""
    folder = tmp_path_factory.mktemp("public")
    for name, program in programs.items():
        (folder / f"{name}.py").write_text(text_of(program), encoding="utf-8")
    paths = [str(folder / f"{name}.py") for name in programs]
    run(RUN, str(folder / "out.json"), *paths)
    answers = json.loads((folder / "out.json").read_text())
    return {name: answers[path] for name, path in zip(programs, paths)}


@pytest.mark.parametrize("name", SCRIPTS)
def test_public_program_returns_what_the_private_one_does(
    name: str, gathered: Mapping[str, Any], results: dict[str, Any]
) -> None:
    assert results[name] == gathered["scripts"][name]["result"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_canary_is_left(name: str, programs: dict[str, SourceProgram]) -> None:
    text = text_of(programs[name])
    assert "secret" in SCRIPTS[name]
    assert "secret" not in text.lower()
    assert "größe" not in text
    assert not programs[name].problems


def test_a_private_class_named_like_a_stock_layer_gets_a_generic_name(
    programs: dict[str, SourceProgram],
) -> None:
    text = programs["stock_names"].definitions_text()
    assert "class Repro(nn.Module)" in text
    assert "class Linear" not in text
    assert (
        "self.view" not in text
    ), "an attribute of a private object is renamed although torch has the word"
    assert ".view(-1" in text, "the tensor's method of the same name stays"
    assert ".weight.sum()" in text, "the stock layer's parameter keeps its name"
    assert "self.weight" not in text


def test_unused_parts_of_the_private_model_are_left_out(programs: dict[str, SourceProgram]) -> None:
    text = text_of(programs["tied"])
    assert "1000" not in text
    assert "for _ in range(3)" in text
    assert "nn.Dropout(0.25)" in text
    assert programs["tied"].callable_expression == "Repro().eval()"


def test_aliases_are_kept(programs: dict[str, SourceProgram]) -> None:
    lines = "\n".join(programs["layouts"].inputs_lines())
    assert lines.count("storage0") == 3
    assert "channels_last" in lines
    assert "torch.arange(6)" in lines


def test_reverse_mapping_is_complete(programs: dict[str, SourceProgram]) -> None:
    program = programs["texts"]
    assert "secret value" in program.mapping
    generated = {
        node.id
        for node in ast.walk(program.definitions)
        if isinstance(node, ast.Name) and node.id.startswith(("arg", "value"))
    }
    assert generated <= set(program.reverse)


@pytest.mark.parametrize(
    ("body", "early"),
    [
        ("try:\n        v = F.nope(v)\n    except AttributeError:\n        pass", {"v"}),
        ("v += x\n    return v", {"v"}),
        ("return (v := x) + v", set()),
        ("if x.sum() > 0:\n        v = x\n    return v", set()),
        ("for i in range(2):\n        if i:\n            x = x + v\n        v = x\n    return x", set()),
        ("while x.sum() < 9:\n        x = x + (v if x.sum() > 5 else 1)\n        v = x\n    return x", set()),
        ("w = [v for v in x]\n    return w[0]", set()),
        ("def later():\n        return v\n    v = x\n    return later()", set()),
        ("try:\n        v = x\n    except ValueError as e:\n        v = str(e)\n    return v", set()),
        ("with torch.no_grad() as g:\n        v = g\n    return v", set()),
        ("v, w = x, x\n    return v + w", set()),
        ("x = x + 1\n    return x", set()),
        ("v: int = v\n    return v", {"v"}),
    ],
)  # fmt: skip
def test_a_local_that_is_read_before_anything_binds_it_is_no_program(
    body: str, early: set[str]
) -> None:
    inputs = ast.parse("def inputs():\n    return (torch.ones(2),)")
    program = SourceProgram(ast.parse(f"def repro(x):\n    {body}\n"), "repro", inputs)
    assert undefined(program) == early


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("v = [x]\n    v.append(x)\n    if len(v) < 2:\n        return v\n    return torch.stack(list(v)).sum(0)", 2),
        ("def own(y):\n        return y\n    return own(x)[0] + {'a': x}['a']", 2),
        ("n = x.size(0) // 2 + x.shape[-1]\n    return x.view(n)", 1),
        ("return x if x is not None and not x.requires_grad else x @ -x", 2),
        ("return x < 0", 1),
        ("return sum([abs(x), x])", 2),
    ],
)  # fmt: skip
def test_what_python_does_is_no_tensor_operation(body: str, count: int) -> None:
    inputs = ast.parse("return (torch.ones(2),)")
    program = SourceProgram(ast.parse(f"def repro(x):\n    {body}\n"), "repro", inputs)
    assert program.statements() == count


def test_backend_stands_alone(gathered: Mapping[str, Any]) -> None:
    made = rebuild_backend(gathered["scripts"]["backend"]["gathered"], gathered["vocabulary"])
    assert made is not None
    text = made.definitions_text()
    assert "def custom_backend(gm, example_inputs):" in text
    assert "gm.graph.nodes" in text
    assert "'call_function'" in text
    assert "secret" not in text
    assert "repro" not in text
    assert not undefined(made)
    assert rebuild_backend(gathered["scripts"]["tied"]["gathered"], gathered["vocabulary"]) is None


def test_a_library_that_leads_to_all_of_itself_is_not_followed_but_the_backend_is(
    tmp_path: Path,
) -> None:
    functions = "".join(f"def secret_{n}(x):\n    return x\n" for n in range(1200))
    table = ", ".join(f"[{', '.join(f'secret_{n}' for n in range(i, i + 40))}]" for i in range(0, 1200, 40))  # fmt: skip
    entry = f"TABLE = [{table}]\ndef secret_entry(x):\n    return TABLE[0][0](x)\n"
    rest = (
        "def secret_backend(gm, inputs):\n    return gm.forward\n"
        "ENTRY, ARGS, BACKEND = secret_entry, (torch.ones(2),), secret_backend\n"
    )
    (tmp_path / "endless.py").write_text("import torch\n" + functions + entry + rest)
    run(GATHER, str(tmp_path), str(COLLECTORS), str(tmp_path / "out.json"), "endless")
    answers = json.loads((tmp_path / "out.json").read_text())
    gathered = answers["scripts"]["endless"]["gathered"]
    assert len(gathered["functions"]) == 1
    with pytest.raises(SourceError):
        rebuild(gathered, answers["vocabulary"])
    backend = rebuild_backend(gathered, answers["vocabulary"])
    assert backend is not None and "return gm.forward" in backend.definitions_text()


# Without torch ------------------------------------------------------------------------------------------------


def handmade(source: str, args: int = 1) -> dict[str, Any]:
    """A gathered function that uses nothing but torch."""
    spec = {
        "shape": [2, 6],
        "stride": [6, 1],
        "offset": 0,
        "dtype": "float32",
        "device": "cpu",
        "requires_grad": False,
        "is_parameter": False,
        "layout": "strided",
        "stats": {"numel": 12, "min": -1.0, "max": 1.0},
    }
    torch = {"kind": "module", "name": "torch"}
    names = {name: {"kind": "torch", "name": f"torch.{name}"} for name in ("relu", "sin", "add")}
    record = {
        "name": "secret",
        "source": source,
        "refs": {"torch": torch},
        "chains": {f"torch.{name}": ref for name, ref in names.items()},
        "defaults": [],
        "kwdefaults": {},
    }
    return {
        "entry": {"kind": "function", "id": "f0"},
        "args": [{"kind": "tensor", "id": f"t{index}"} for index in range(args)],
        "kwargs": {},
        "backend": None,
        "functions": {"f0": record},
        "classes": {},
        "instances": {},
        "tensors": {f"t{index}": spec for index in range(args)},
        "storages": [],
        "problems": [],
    }


LONG = """
def secret(x, unused):
    kept = torch.relu(x)
    gone = torch.sin(kept) + 12345
    if gone.sum() > 0:
        with torch.no_grad():
            kept = torch.add(kept, x, alpha=7)
    for secret_step in range(3):
        kept = kept * 0.123456
    return kept, gone
"""


def long_program() -> SourceProgram:
    return rebuild(handmade(LONG, 2), {"relu", "sum", "add", "sin", "no_grad", "alpha"})


def test_numbers_that_are_neither_small_nor_simple_are_listed() -> None:
    assert long_program().kept_numbers == (0.123456, 12345)
    assert is_simple(64) and is_simple(0.5) and is_simple(1e-5)
    assert not is_simple(65) and not is_simple(0.125)


def test_unknown_attribute_names_are_never_kept() -> None:
    made = rebuild(
        handmade("def f(x):\n    return x.secret_method(x.size(0)).real"), {"size", "real"}
    )
    text = made.definitions_text()
    assert "secret_method" not in text
    assert ".size(0)" in text and ".real" in text


def test_generated_names_avoid_private_ones() -> None:
    made = rebuild(
        handmade("def f(value1, arg1):\n    value2 = value1 + arg1\n    return value2", 2), ()
    )
    private = {"value1", "value2", "arg1", "f"}
    names = {node.id for node in ast.walk(made.definitions) if isinstance(node, ast.Name)}
    assert not names & private


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("floor", "floor"),
        ("cpu", "cpu"),
        ("bhqd,bhkd->bhqk", "abcd,abed->abce"),
        ("call_function", "call_function"),
        ("__weakref__", "__weakref__"),
        ("-inf", "-inf"),
        ("Meridian", "text1"),
        ("", ""),
        ("/", "/"),
        ("--- Meridian", "text1"),
    ],
)
def test_only_listed_strings_are_kept(text: str, expected: str) -> None:
    assert Names(()).text(text) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "torch.randn(2, 6)"),
        ({"requires_grad": True}, "torch.randn(2, 6, requires_grad=True)"),
        ({"stride": [1, 2]}, "torch.randn(6, 2).transpose(0, 1)"),
        ({"stride": [0, 1]}, "torch.randn(1, 6).expand(2, 6)"),
        ({"dtype": "int64", "stats": {"min": 2.0, "max": 9.0, "numel": 12}}, "torch.randint(2, 10, (2, 6))"),
        ({"dtype": "bool", "stats": {"min": 0.0, "max": 1.0, "numel": 12}}, "torch.rand(2, 6) > 0.5"),
        (
            {"dtype": "bool", "stats": {"min": 1.0, "max": 1.0, "numel": 12, "pattern": "constant"}},
            "torch.ones(2, 6, dtype=torch.bool)",
        ),
        ({"is_parameter": True, "requires_grad": True}, "nn.Parameter(torch.randn(2, 6))"),
    ],
)  # fmt: skip
def test_tensor_recipes(changes: dict[str, Any], expected: str) -> None:
    assert tensor_expression({**handmade("def f(x): pass")["tensors"]["t0"], **changes}) == expected


def test_reduction_keeps_what_is_asked_for_and_nothing_else() -> None:
    batches: list[int] = []

    def interesting(candidates: list[SourceProgram]) -> list[bool]:
        batches.append(len(candidates))
        return [
            "torch.add(" in each.definitions_text() and "alpha" in each.definitions_text()
            for each in candidates
        ]

    program = long_program()
    before = text_of(program)
    small = source_reduce.reduce(program, interesting)
    text = small.definitions_text()
    assert text_of(program) == before, "the program given is left alone"
    assert "torch.add(" in text and "alpha" in text
    for gone in ("relu", "sin", "12345", "0.123456", "for ", "if ", "with "):
        assert gone not in text
    assert small.statements() == 1
    assert max(batches) <= source_reduce.BATCH
    again = source_reduce.reduce(long_program(), interesting)
    assert text_of(again) == text_of(small)


def test_reduction_changes_nothing_if_nothing_is_interesting() -> None:
    program = long_program()
    small = source_reduce.reduce(program, lambda candidates: [False] * len(candidates))
    assert text_of(small) == text_of(renumber(program))


def test_edits_are_valid_python_and_distinct() -> None:
    seen = [text_of(each) for each in source_reduce.edits(long_program())]
    assert len(seen) > 30
    assert len(set(seen)) == len(seen)
    for each in seen:
        ast.parse(each)


def test_an_input_goes_with_its_parameter() -> None:
    program = rebuild(handmade("def f(x, y):\n    return torch.relu(x)", 2), {"relu"})
    found = [each for each in source_reduce.edits(program) if len(each.inputs_lines()) == 3]
    assert any("def repro(arg1):" in each.definitions_text() for each in found)


def test_a_variable_is_written_where_it_is_read() -> None:
    source = "def f(x):\n    y = torch.relu(x)\n    z = y\n    return torch.sin(z)"
    program = rebuild(handmade(source), {"relu", "sin"})

    def interesting(candidates: list[SourceProgram]) -> list[bool]:
        texts = [each.definitions_text() for each in candidates]
        return ["torch.sin" in text and "torch.relu(arg1)" in text for text in texts]

    text = source_reduce.reduce(program, interesting).definitions_text()
    assert "torch.sin(torch.relu(arg1))" in text
    assert "value" not in text


BLOCKS = """
class Block1(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr1 = 18
    def forward(self, arg1):
        return torch.take(arg1, torch.arange(self.attr1))

class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr2 = Block1()
        self.attr3 = nn.Linear(20, 20)
    def forward(self, arg1, arg2):
        return self.attr3(arg2) + self.attr2(arg1)
"""


def test_a_block_becomes_the_whole_and_its_constant_is_written_out() -> None:
    inputs = ast.parse("x = torch.randn(20)\nx1 = torch.randn(20)\nreturn (x, x1)")
    program = SourceProgram(ast.parse(BLOCKS), "Repro().eval()", inputs)

    def interesting(candidates: list[SourceProgram]) -> list[bool]:
        return ["torch.take(arg1, torch.arange(" in each.definitions_text() for each in candidates]

    small = source_reduce.reduce(program, interesting)
    assert small.callable_expression == "Repro().eval()"
    assert "Block1" not in small.definitions_text()
    assert "torch.take(arg1, torch.arange(2))" in small.definitions_text()
    assert "attr" not in small.definitions_text()
    assert "return (x,)" in small.inputs_lines()


def test_tidy_removes_what_nothing_mentions() -> None:
    program = rebuild(handmade("def f(x):\n    return torch.relu(x)"), {"relu"})
    extra = ast.parse("def helper9(a):\n    return helper8(a)\ndef helper8(a):\n    return a").body
    program.definitions.body[:0] = extra
    assert "helper" in program.definitions_text()
    assert "helper" not in tidy(program).definitions_text()


def test_a_function_of_torch_is_called_by_the_name_that_people_write(
    programs: dict[str, SourceProgram],
) -> None:
    text = text_of(programs["asked_by_name"])
    assert "torch._dynamo.mark_dynamic(" in text and "decorators" not in text
