"""Edits that make a rewritten script shorter."""

from __future__ import annotations

import ast
import dataclasses
import textwrap

import pytest

from anonymizer.edits.absorption import absorb
from anonymizer.edits.callables import free_modules
from anonymizer.edits.expressions import unpack_arguments
from anonymizer.edits.inlining import iterate_values, propagate, split_assignments, unroll
from anonymizer.edits.objects import open_objects, read_new_objects
from anonymizer.edits.passes import Edit
from anonymizer.edits.signatures import drop_unread_parameters, write_given_constants
from anonymizer.edits.statements import unwrap
from anonymizer.source.program import SourceProgram


def script(text: str, result: str = "(out, (value1, value2))") -> SourceProgram:
    returned = ast.Module([ast.Return(ast.Tuple([], ast.Load()))], [])
    return SourceProgram(ast.parse(textwrap.dedent(text)), result, returned, is_script=True)


def apply(edit: Edit, program: SourceProgram) -> list[tuple[str, str]]:
    return [(made.write_definitions(), made.callable_expression) for made in edit(program)]


def test_a_parameter_that_is_not_read_goes_with_what_the_calls_give_for_it() -> None:
    program = script("""
        def fn(x, y):
            return x + 1
        compiled = compile(fn)
        compiled(value1, value1)
        value2 = 2
        out = compiled(value1, value2)
        """)
    ((text, result),) = apply(drop_unread_parameters, program)
    assert "def fn(x):" in text and "compiled(value1)\n" in text
    assert text.endswith("out = compiled(value1)") and result == "(out, (value1,))"


def test_a_constructor_is_given_no_more_than_it_reads() -> None:
    program = script("""
        class Thing1:
            def __init__(self, attr1, attr2):
                self.attr2 = attr2
        value1 = Thing1('text1', 3)
        out = compile(fn)(value1)
        """)
    ((text, _),) = apply(drop_unread_parameters, program)
    assert "def __init__(self, attr2):" in text and "value1 = Thing1(3)" in text


CALLED_METHOD = """
    class Thing1:
        def __init__(self):
            self.attr1 = compile(helper1)
        def attr2(self, x, y):
            self.attr1(x)
            {more}
        {other}
    value1 = Thing1()
    x = torch.ones(2)
    value1.attr2(x, 3)
    out = value1.attr1(x)
    """


def test_a_method_is_written_where_a_script_calls_it_and_its_object_is_its_values() -> None:
    ((text, _),) = apply(absorb, script(CALLED_METHOD.format(more="z = y", other="")))
    assert "attr2" not in text and text.endswith(
        "y = 3\nvalue1.attr1(x)\nz = y\nNone\nout = value1.attr1(x)"
    )
    program = script(text)
    ((opened, _),) = apply(open_objects, program)
    assert "value1." not in opened and opened.endswith("out = value2(x)")


@pytest.mark.parametrize(
    ("more", "other"),
    [("if y: return x", ""), ("pass", "def attr3(self): self.attr2(1, 2)")],
)
def test_a_method_with_two_ends_or_two_calls_stays(more: str, other: str) -> None:
    assert apply(absorb, script(CALLED_METHOD.format(more=more, other=other))) == []


def test_contexts_of_several_calls_go_together() -> None:
    program = script("""
        with torch.no_grad():
            compiled(value1)
        value1.eval()
        with torch.no_grad():
            out = compiled(value1)
        with torch.device('cpu'):
            pass
        """)
    first, *others = (text for text, _ in apply(unwrap, program))
    assert "no_grad" not in first and "torch.device" in first and "value1.eval()\nout" in first
    assert [text.count("no_grad") for text in others] == [1, 1, 2]


def test_what_is_called_without_an_object_is_written_where_a_script_calls_it() -> None:
    program = script("""
        class Thing1:
            attr1 = 3
            @classmethod
            def attr2(arg1, arg2):
                return arg1(arg2)
            @staticmethod
            def attr3(arg1, arg2):
                return arg1 + arg2
        value1 = Thing1.attr2(2)
        value2 = Thing1.attr3(value1, value1)
        out = compile(fn)(value2)
        """)
    first, second = (text for text, _ in apply(absorb, program))
    assert "\narg2 = 2\nvalue1 = Thing1(arg2)\n" in first and "classmethod" not in first
    assert "\narg2 = value1\nvalue2 = arg1 + arg2\n" in second and "staticmethod" not in second


@pytest.mark.parametrize("kind", ["property", "functools.cached_property"])
@pytest.mark.parametrize("made", ["Thing1(1)", "value1"])
def test_a_property_is_written_where_a_script_reads_it(kind: str, made: str) -> None:
    program = script(f"""
        class Thing1:
            @{kind}
            def attr1(self):
                return helper1
        value1 = Thing1(2)
        out = compile({made}.attr1)(value1)
        """)
    ((text, _),) = apply(absorb, program)
    assert "class Thing1:\n    pass\n" in text
    assert text.endswith("out = compile(helper1)(value1)")


MODULE = """
    class Block1(nn.Module):
        def forward(self, x, y):
            return x.abs()
    value1 = torch.ones(2)
    expected = Block1()(value1, value1)
    out = compile(Block1())(value1, value1)
    """


def test_a_module_that_is_no_more_than_its_forward_is_a_function() -> None:
    ((text, _),) = apply(free_modules, script(MODULE))
    assert text.startswith("def helper1(x, y):\n    return x.abs()")
    assert text.endswith(
        "expected = helper1(value1, value1)\nout = compile(helper1)(value1, value1)"
    )


@pytest.mark.parametrize(
    "text",
    [
        MODULE.replace("x.abs()", "x + self.training"),
        MODULE.replace("(nn.Module)", "(nn.ReLU)"),
        MODULE.replace("expected = Block1()", "expected = isinstance(value1, Block1) or Block1()"),
        MODULE.replace("Block1()", "Block1(1)"),
    ],
    ids=["reads itself", "another base", "is named", "is given something"],
)
def test_a_module_that_is_more_stays(text: str) -> None:
    assert apply(free_modules, script(text)) == []


def test_what_is_still_read_stays_an_argument_of_the_failing_call() -> None:
    program = script("""
        def fn(x, y):
            return x + 1
        out = compile(fn)(value1 + value2, value2)
        """)
    ((text, result),) = apply(drop_unread_parameters, program)
    assert text.endswith("compile(fn)(value1 + value2)") and result == "(out, (value1, value2))"


def test_a_function_that_is_handed_on_keeps_its_parameters() -> None:
    assert not apply(
        drop_unread_parameters,
        script("""
        def fn(x, y):
            return x + 1
        kept = [fn]
        out = compile(fn)(value1, value2)
        """),
    )


def test_a_call_that_names_its_arguments_keeps_them() -> None:
    assert not apply(
        drop_unread_parameters,
        script("""
        def fn(x, y):
            return x + 1
        out = compile(fn)(value1, y=value2)
        """),
    )


def test_variables_of_an_unpacked_call_are_its_argument() -> None:
    program = script("value1, value2 = helper1(value3, 2)")
    ((text, _),) = apply(unpack_arguments, program)
    # Python 3.10 writes both tuples with parentheses
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse("value1, value2 = (value3, value3)"))


def test_an_assignment_of_a_tuple_is_one_for_each_variable() -> None:
    ((text, _),) = apply(split_assignments, script("value1, value2 = (value3, 2)"))
    assert text == "value1 = value3\nvalue2 = 2"


def test_a_loop_goes_through_values_that_are_looked_up_by_key() -> None:
    program = script("""
        value1 = {'sum': torch.add, 'text1': torch.sub}
        def helper1(arg1):
            return value1[arg1]
        for arg1 in value1:
            out = helper1(arg1)
        """)
    ((text, _),) = apply(iterate_values, program)
    assert "return arg1" in text and "for arg1 in (torch.add, torch.sub):" in text


def test_a_loop_over_few_values_is_written_out() -> None:
    program = script("for arg1 in (torch.add, torch.sub):\n    out = compile(arg1)(value1)")
    ((text, _),) = apply(unroll, program)
    assert text == "out = compile(torch.add)(value1)\nout = compile(torch.sub)(value1)"


def test_a_loop_over_few_pairs_is_written_out() -> None:
    program = script("""
        for arg1, arg2 in (('text1', value1), ('text2', value2 + 1)):
            out = compile(fn)(arg2)
        """)
    ((text, _),) = apply(unroll, program)
    assert text == "out = compile(fn)(value1)\nout = compile(fn)(value2 + 1)"
    program = dataclasses.replace(program, callable_expression="(out, (arg2,))")
    ((text, _),) = apply(unroll, program)
    assert text.endswith("\narg2 = value2 + 1\nout = compile(fn)(arg2)")
    for other in ("(value1, (2, 3))", "((1, 2, 3), (4, 5, 6))", "((1, 2), (*value1,))"):
        assert not apply(unroll, script(f"for arg1, arg2 in {other}:\n    out = compile(fn)(arg2)"))


def test_a_loop_that_counts_to_a_small_number_is_written_out() -> None:
    ((text, _),) = apply(unroll, script("for arg1 in range(2):\n    out = compile(fn)(arg1)"))
    assert text == "out = compile(fn)(0)\nout = compile(fn)(1)"
    assert not apply(unroll, script("for arg1 in range(5):\n    out = compile(fn)(arg1)"))


def test_a_loop_that_is_left_early_is_not_written_out() -> None:
    assert not apply(unroll, script("for arg1 in (1, 2):\n    break"))


def test_values_of_the_scripts_own_variables_are_written_where_they_are_read() -> None:
    program = script("value1 = value3\nout = compile(fn)(value1, value2)")
    assert apply(propagate, program)[0] == (
        "out = compile(fn)(value3, value2)",
        "(out, (value3, value2))",
    )


def test_what_is_compared_keeps_a_name() -> None:
    program = script("value1 = torch.ones(2)\nout = compile(fn)(value1)", "(out, (value1,))")
    assert not apply(propagate, program)


def test_each_branch_of_a_statement_takes_its_place() -> None:
    def bodies(text: str) -> list[str]:
        return [made for made, _ in apply(unwrap, script(text))]

    match = "match value1:\n    case 'sum':\n        out = 1\n    case _:\n        out = 2"
    assert bodies(match) == ["out = 1", "out = 2"]
    caught = "try:\n    out = 1\nexcept ValueError:\n    out = 2\nelse:\n    out = 3"
    assert bodies(caught) == ["out = 1", "out = 3", "out = 2"]
    assert bodies("for out in value1:\n    fn(out)") == ["out = value1[0]\nfn(out)"]


OBJECT = """
    class Thing1:
        def __init__(self, model, attr1):
            self.attr1 = attr1
            self.attr2 = compile(model)
    value1 = torch.ones(2)
    value2 = Thing1(helper1, value1 + 1)
    out = value2.attr2(value2.attr1)
    """


@pytest.mark.parametrize(
    ("parameters", "given"),
    [
        ("model, attr1", "helper1, value1 + 1"),
        ("model, attr1", "helper1, attr1=value1 + 1"),
        ("model, *, attr1", "helper1, attr1=value1 + 1"),
        ("model, attr1=value1 + 1", "helper1"),
    ],
)
def test_an_object_of_which_attributes_are_read_is_its_attributes(
    parameters: str, given: str
) -> None:
    program = OBJECT.replace("model, attr1", parameters).replace("helper1, value1 + 1", given)
    ((text, _),) = apply(open_objects, script(program))
    assert text[text.index("value1 =") :].splitlines() == [
        "value1 = torch.ones(2)",
        "value3 = helper1",
        "value4 = value1 + 1",
        "value5 = value4",
        "value6 = compile(value3)",
        "out = value6(value5)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        OBJECT.replace("Thing1:", "Thing1(dict):"),
        OBJECT.replace("out =", "helper2(value2)\n    out ="),
        OBJECT.replace("value2.attr1)", "value2.attr3)"),
        OBJECT.replace("self.attr1 = attr1", "helper2(self)"),
        OBJECT.replace("value1 + 1)", "**value1)"),
    ],
    ids=["has a base", "is handed on", "has another attribute", "hands itself on", "by any name"],
)
def test_an_object_that_is_more_stays(text: str) -> None:
    assert apply(open_objects, script(text)) == []


def test_an_attribute_of_a_new_object_is_what_its_constructor_assigns() -> None:
    text = OBJECT.replace("value2.attr2(value2.attr1)", "Thing1(helper1, 2).attr2(value1)")
    ((made, _),) = apply(read_new_objects, script(text))
    assert made.endswith("out = compile(helper1)(value1)")


def test_a_constant_that_all_objects_are_given_is_the_constructors_own() -> None:
    program = """
        class Block1(nn.Module):
            def __init__(self, arg1):
                super().__init__()
                self.mix = nn.Linear(arg1, 3)
        value1 = Block1(2)
        value2 = Block1(2)
        """
    ((text, _),) = apply(write_given_constants, script(program))
    assert "self.mix = nn.Linear(2, 3)" in text
    assert not apply(
        write_given_constants, script(program.replace("value2 = Block1(2)", "value2 = Block1(4)"))
    )
