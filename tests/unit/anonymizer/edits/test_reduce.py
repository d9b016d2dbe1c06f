"""A rebuilt program is made smaller as long as it is interesting."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Sequence

import pytest

from anonymizer.edits import reduce
from anonymizer.edits.inlining import promote
from anonymizer.edits.signatures import drop_function_arguments
from anonymizer.graph.repro import FUNCTION_CALL, ReproBody
from anonymizer.source.dead_code import renumber
from anonymizer.source.rewriting import SourceProgram, rebuild
from tests.support.gathered import handmade, long_program, module_text, ones


def find_text(is_interesting: Callable[[str], bool]) -> reduce.FindFirst:
    """The first candidate whose definitions are interesting."""
    return lambda candidates: next(
        (at for at, each in enumerate(candidates) if is_interesting(each.write_definitions())), None
    )


def edits(program: SourceProgram) -> list[SourceProgram]:
    """What one round proposes where nothing is interesting: every single edit."""
    seen: list[SourceProgram] = []

    def note(candidates: Sequence[SourceProgram]) -> None:
        seen.extend(candidates)

    reduce.reduce(program, note, rounds=1)
    return seen


def test_reduction_keeps_what_is_asked_for_and_nothing_else() -> None:
    batches: list[int] = []

    def find_first(candidates: Sequence[SourceProgram]) -> int | None:
        batches.append(len(candidates))
        return find_text(lambda text: "torch.add(" in text and "alpha" in text)(candidates)

    program = long_program()
    before = module_text(program)
    small = reduce.reduce(program, find_first)
    text = small.write_definitions()
    assert module_text(program) == before, "the program given is left alone"
    assert "torch.add(" in text and "alpha" in text
    for gone in ("relu", "sin", "12345", "0.123456", "for ", "if ", "with "):
        assert gone not in text
    assert small.count_statements() == 1
    assert max(batches) <= reduce.BATCH
    again = reduce.reduce(long_program(), find_first)
    assert module_text(again) == module_text(small)


def test_reduction_changes_nothing_if_nothing_is_interesting() -> None:
    program = long_program()
    small = reduce.reduce(program, lambda candidates: None)
    assert module_text(small) == module_text(renumber(program))


def test_names_stay_where_the_program_does_not_fail_under_others() -> None:
    program = rebuild(handmade("def f(x, y):\n    return torch.relu(y)", 2), {"relu"})
    find_first = find_text(lambda text: "torch.relu(arg2)" in text)
    text = reduce.reduce(program, find_first).write_definitions()
    assert text == "def repro(arg2):\n    return torch.relu(arg2)"


def test_edits_are_valid_python_and_distinct() -> None:
    seen = [module_text(each) for each in edits(long_program())]
    assert len(seen) > 30
    assert len(set(seen)) == len(seen)
    for each in seen:
        ast.parse(each)


def test_an_input_goes_with_its_parameter() -> None:
    program = rebuild(handmade("def f(x, y):\n    return torch.relu(x)", 2), {"relu"})
    found = [each for each in edits(program) if len(each.write_inputs()) == 3]
    assert any("def repro(arg1):" in each.write_definitions() for each in found)


def test_a_variable_is_written_where_it_is_read() -> None:
    source = "def f(x):\n    y = torch.relu(x)\n    z = y\n    return torch.sin(z)"
    program = rebuild(handmade(source), {"relu", "sin"})

    find_first = find_text(lambda text: "torch.sin" in text and "torch.relu(arg1)" in text)
    text = reduce.reduce(program, find_first).write_definitions()
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


def test_a_block_becomes_the_whole_and_its_constant_is_write_out() -> None:
    inputs = ast.parse("x = torch.randn(20)\nx1 = torch.randn(20)\nreturn (x, x1)")
    program = SourceProgram(ast.parse(BLOCKS), "Repro().eval()", inputs)
    assert {each.callable_expression for each in promote(program)} == {"Repro().eval()"}

    find_first = find_text(lambda text: "torch.take(arg1, torch.arange(" in text)
    small = reduce.reduce(program, find_first)
    assert small.callable_expression == "Repro()"
    assert "Block1" not in small.write_definitions()
    assert "torch.take(arg1, torch.arange(2))" in small.write_definitions()
    assert "attr" not in small.write_definitions()
    assert "return (x,)" in small.write_inputs()


def test_statements_beside_a_nested_function_go_and_so_does_that_function() -> None:
    source = """
def repro(x):
    def helper1(y):
        return y.sin()
    value1 = x.cos()
    value2 = helper1(value1)
    return x.relu()
"""
    program = SourceProgram(ast.parse(source), "repro", ones())

    find_first = find_text(lambda text: "x.relu()" in text)
    left = reduce.reduce(program, find_first).write_definitions()
    assert "helper1" not in left and "cos" not in left and ".relu()" in left


def test_an_edit_that_was_not_taken_is_proposed_again_when_another_was() -> None:
    """The function goes with the statement that calls it, whether or not its `try` went first."""
    source = """
import contextlib
state1 = []

@contextlib.contextmanager
def helper1(y):
    state1.append(y)
    try:
        yield state1
    finally:
        state1.pop()

def repro(x):
    with helper1('outer') as value1:
        return x.relu()
"""
    program = SourceProgram(ast.parse(source), "repro", ones())
    left = reduce.reduce(program, find_text(_is_judged)).write_definitions()
    assert "with" not in left and "helper1" not in left and ".relu()" in left


def _is_judged(text: str) -> bool:
    """Whether the call is there, and a context manager that is entered yields once."""
    return "x.relu()" in text and ("with " not in text or "yield" in text)


def test_what_led_to_a_value_is_replaced_by_an_earlier_one_and_sizes_by_numbers() -> None:
    source = """
def repro(x):
    value1 = x.cos()
    value2 = torch.einsum("ab,cb->ac", value1.exp(), value1.exp())
    return value2.add_(value1.shape[1])
"""
    program = SourceProgram(ast.parse(source), "repro", ones())

    find_first = find_text(
        lambda text: "x.cos()" in text
        and "= 'ab" not in text
        and re.search(r"(value[12]|cos\(\))\.add_\((value1\.shape\[1\]|2)\)", text) is not None
    )
    left = reduce.reduce(program, find_first).write_definitions()
    assert "einsum" not in left and "shape" not in left and "exp" not in left
    assert ".add_(2)" in left


FUNCTION = """
class Operation1(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, z):
        ctx.mark_dirty(x)
        return x
    @staticmethod
    def backward(ctx, x):
        return (x, None, None)

class Repro(nn.Module):
    def forward(self, arg1):
        return Operation1.apply(arg1.clone(), 2, 3)
"""


def test_what_an_autograd_function_does_not_need_goes_with_its_gradient() -> None:
    inputs = ast.parse(
        "x = torch.ones(4, dtype=torch.int64).as_strided((2, 2), (2, 1))\nreturn (x,)"
    )
    program = SourceProgram(ast.parse(FUNCTION), "Repro()", inputs)

    find_first = find_text(
        lambda text: "mark_dirty(x)" in text
        and "return x\n" in text
        and "Operation1.apply(arg1.clone()" in text
        and "def backward" in text
    )
    small = reduce.reduce(program, find_first)
    left = small.write_definitions()
    assert "def forward(ctx, x):" in left and "apply(arg1.clone())" in left
    assert "y" not in left.split() and "None, None" not in left
    assert "x = torch.ones(2, 2, dtype=torch.int64)" in small.write_inputs()


SEVERAL_OUTPUTS = """
class Operation1(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        return (x, x)
    @staticmethod
    def backward(ctx, x, z):
        return (x, None)
"""
WITH_SETUP = """
class Operation1(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return (x, x)
    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.save_for_backward(x)
    @staticmethod
    def backward(ctx, x, z):
        return (x, None)
"""


@pytest.mark.parametrize("function", [SEVERAL_OUTPUTS, WITH_SETUP])
def test_an_autograd_function_keeps_its_outputs_without_an_argument(function: str) -> None:
    called = "def repro(x):\n    return Operation1.apply(x, 0.3)\n"
    program = SourceProgram(ast.parse(function + called), "repro", ones())
    (made,) = drop_function_arguments(program)
    text = made.write_definitions()
    assert "Operation1.apply(x)" in text and "return (x, x)" in text and "return (x,)" in text
    assert not re.search(r"\by\b", text) and "None" not in text
    assert "def backward(ctx, x, z):" in text


def test_what_is_compared_of_an_object_stays_as_it_is() -> None:
    source = """
class Repro(nn.Module):
    def forward(self, arg1):
        self.attr1 = 1
        return arg1
state = lambda model: [{k: v for k, v in vars(model).items() if k[0] != "_"}]
"""
    program = SourceProgram(ast.parse(source), "Repro()", ones(), state_calls=1, has_own_state=True)
    texts = [each.write_definitions() for each in edits(program)]
    assert texts and all("if k[0] != '_'" in text or "vars" not in text for text in texts)


def test_fields_that_nothing_reads_go_with_their_values() -> None:
    source = """
@dataclasses.dataclass
class Thing1:
    attr1: object
    attr2: object

class Repro(nn.Module):
    def __init__(self):
        super().__init__()
        self.attr3 = Thing1(attr1=2, attr2=0.7)
    def forward(self, arg1):
        return arg1 * self.attr3.attr1
"""
    program = SourceProgram(ast.parse(source), "Repro()", ones())

    find_first = find_text(lambda text: "arg1 * self.attr3.attr1" in text)
    left = reduce.reduce(program, find_first).write_definitions()
    assert "attr1: object" in left and "attr2" not in left and "0.7" not in left


def test_a_number_of_a_class_is_written_where_it_is_read_and_the_class_goes() -> None:
    source = """
    class Repro(nn.Module):
        def __init__(self):
            super().__init__()
            self.attr2 = Thing1()

        def forward(self, x):
            return x * self.attr2.attr1
    """
    program = SourceProgram(
        ast.parse("class Thing1:\n    attr1 = 0.5\n\n\n" + textwrap.dedent(source)),
        "Repro()",
        ast.parse("return (torch.ones(2),)"),
        None,
    )
    small = reduce.reduce(program, find_text(lambda text: "x * 0.5" in text))
    assert "Thing1" not in small.write_definitions() and "attr2" not in small.write_definitions()


def test_one_operation_less_leaves_the_inputs_that_are_read() -> None:
    body = ReproBody(
        "def repro(x, w):\n    v0 = x * w\n    return torch.sum(v0, dtype=torch.int8)",
        "repro",
        ("x = torch.ones(4)", "w = torch.ones(4)", "return (x, w)"),
        FUNCTION_CALL,
    )
    made = list(reduce.drop_one_operation(body))
    assert {operations for _, operations in made} == {1}
    texts = [one.definitions for one, _ in made]
    assert any("*" not in text and "torch.sum(" in text for text in texts)
    assert any("*" in text and "torch.sum(" not in text for text in texts)
    for one, _ in made:
        ast.parse("\n".join(one.inputs).replace("return ", ""))
        assert one.inputs[-1].startswith("return (")


def test_a_layer_gives_way_to_a_sum() -> None:
    source = """
    class Repro(nn.Module):
        def __init__(self):
            super().__init__()
            self.attr1 = nn.Linear(2, 2)

        def forward(self, x, y):
            y.move_to_end("a")
            return self.attr1(x)
    """
    program = SourceProgram(
        ast.parse(textwrap.dedent(source)),
        "Repro()",
        ast.parse("return (torch.ones(2, 2), collections.OrderedDict(a=1, b=2))"),
        None,
    )

    find_first = find_text(
        lambda text: "move_to_end" in text and ("+ 1" in text or "attr1(" in text)
    )
    text = reduce.reduce(program, find_first).write_definitions()
    assert "nn.Linear" not in text and "return x + 1" in text
