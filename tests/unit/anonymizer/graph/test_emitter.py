"""A graph is written as a person would have written the program, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from anonymizer.graph import emitter
from anonymizer.graph.expressions import IN_PLACE, NotPublicError
from anonymizer.graph.ir import Alias, Atom, Graph, Input, Node, Ref, Seq
from collectors.protocol.captured_values import OPERATORS_IN_PLACE
from tests.support.graphs import META, call, tensor


def test_stock_layers_stand_for_parameters_of_their_own() -> None:
    graph = Graph(
        (tensor("x0", shape=(2, 3)), tensor("p1", "param", (5, 3)), tensor("p2", "param", (5,))),
        (call("y", "torch.nn.functional.linear", Ref("x0"), Ref("p1"), Ref("p2")),),
        (Ref("y"),),
    )
    text = emitter.emit(graph).definitions
    assert "nn.Linear(3, 5)" in text and "return self.linear1(x)" in text


def test_a_shared_parameter_stays_a_parameter() -> None:
    graph = Graph(
        (tensor("x0", shape=(2, 3)), tensor("p1", "param", (3, 3))),
        (
            call("y", "torch.nn.functional.linear", Ref("x0"), Ref("p1")),
            call("z", "torch.nn.functional.linear", Ref("y"), Ref("p1")),
        ),
        (Ref("z"),),
    )
    text = emitter.emit(graph).definitions
    assert "nn.Linear" not in text and text.count("nn.Parameter") == 1


def test_a_string_that_is_not_torchs_stops_the_emission() -> None:
    graph = Graph(
        (tensor("x0"),), (call("y", "torch.add", Ref("x0"), alpha="acme-secret"),), (Ref("y"),)
    )
    with pytest.raises(NotPublicError):
        emitter.emit(graph)


def test_a_private_function_stops_the_emission() -> None:
    graph = Graph((tensor("x0"),), (call("y", "acme.kernels.fused", Ref("x0")),), (Ref("y"),))
    with pytest.raises(NotPublicError):
        emitter.emit(graph)


def test_an_index_is_written_with_brackets() -> None:
    index = Seq("tuple", (Atom("..."), Seq("slice", (None, 2, None))))
    graph = Graph((tensor("x0"),), (call("y", "operator.getitem", Ref("x0"), index),), (Ref("y"),))
    assert "x[..., :2]" in emitter.emit(graph).definitions


def windows(offset: int, *nodes: Node, requires_grad: bool = False) -> tuple[str, ...]:
    """The lines that make two inputs of six elements in one storage, so far apart."""

    def window(name: str) -> Input:
        made = tensor(name, shape=(6,))
        meta = replace(made.meta, stride=(1,), requires_grad=requires_grad)
        return replace(made, meta=meta)

    second = replace(window("x1"), alias=Alias("x0", offset))
    return emitter.emit(Graph((window("x0"), second), nodes, (Ref("x0"), Ref("x1")))).inputs


def test_inputs_that_overlap_are_parts_of_what_holds_both() -> None:
    behind = ("base = torch.randn(10)", "x = base[:6]", "y = base[4:]", "return (x, y)")
    before = ("base = torch.randn(8)", "x = base[2:]", "y = base[:6]", "return (x, y)")
    assert [line.replace(",)", ")") for line in windows(4)] == list(behind)
    assert [line.replace(",)", ")") for line in windows(-2)] == list(before)
    assert windows(0)[:2] == ("x = torch.randn(6)", "y = x")


def test_what_requires_a_gradient_and_is_changed_in_place_is_no_leaf() -> None:
    write = Node("w", "method", "mul_", (Ref("v"), 2.0))
    view = Node("v", "method", "view", (Ref("x1"), -1))
    made = "base = torch.randn(10).requires_grad_()"
    assert windows(4, view, write, requires_grad=True)[0] == made + ".clone()"
    assert windows(4, view, requires_grad=True)[0] == made
    assert windows(4, view, write)[0] == "base = torch.randn(10)"


def changed_part(*more: Node, output: str = "x0") -> str:
    """`x[y] += x` as Dynamo has it, with other nodes before the assignment."""
    nodes = (
        call("p", "operator.getitem", Ref("x0"), Ref("x1")),
        call("c", "operator.iadd", Ref("p"), Ref("x0")),
        *more,
        call("s", "operator.setitem", Ref("x0"), Ref("x1"), Ref("c"), meta=None),
    )
    return emitter.emit(Graph((tensor("x0"), tensor("x1")), nodes, (Ref(output),))).definitions


def test_a_part_that_is_changed_in_place_is_one_statement() -> None:
    assert "    x[y] += x\n    return x" in changed_part()


@pytest.mark.parametrize(
    ("more", "output"),
    [
        ((), "c"),
        ((call("r", "torch.sin", Ref("c")),), "r"),
        ((Node("w", "method", "mul_", (Ref("x0"), 2.0)),), "x0"),
    ],
)
def test_a_part_that_is_read_elsewhere_or_meets_another_write_keeps_its_name(
    more: tuple[Node, ...], output: str
) -> None:
    text = changed_part(*more, output=output)
    assert "v0 = x[y]\n    v0 += x\n" in text and "x[y] = v0" in text


def test_a_tensor_is_changed_in_place_by_its_own_name() -> None:
    graph = Graph(
        (tensor("x0"), tensor("x1")),
        (call("c", "operator.imul", Ref("x0"), Ref("x1")), call("r", "torch.sin", Ref("c"))),
        (Ref("r"),),
    )
    assert "    x *= y\n    return torch.sin(x)" in emitter.emit(graph).definitions


@pytest.mark.parametrize(
    ("method", "args", "text"),
    [
        ("__rpow__", (Ref("x0"), True), "True ** x"),
        ("__rpow__", (Ref("x0"), -2.0), "(-2.0) ** x"),
        ("__rsub__", (Ref("x0"), -2), "-2 - x"),
        ("__rsub__", (Ref("x0"), 2), "2 - x"),
        ("__and__", (Ref("x0"), Ref("x0")), "x & x"),
        # Python would ask the tensor on the left first, by another method
        ("__rsub__", (Ref("x0"), Ref("x0")), "x.__rsub__(x)"),
    ],
)
def test_the_methods_of_pythons_operators_are_written_as_operators(
    method: str, args: tuple[Ref | int, ...], text: str
) -> None:
    node = Node("y", "method", method, args)
    assert text in emitter.emit(Graph((tensor("x0"),), (node,), (Ref("y"),))).definitions


def test_each_size_that_changes_has_a_name_of_its_own() -> None:
    inputs = tuple(replace(tensor(f"x{n}", shape=(4,)), symbols=(f"s{n}",)) for n in range(15))
    nodes = (call("y", "torch.cat", Seq("list", tuple(Ref(item.name) for item in inputs))),)
    body = emitter.emit(Graph(inputs, nodes, (Ref("y"),), ((("s0", 3),), (("s0", 4),))))
    names = [name for name, _ in body.sizes]
    assert names[:2] == ["n", "m"] and names[7:9] == ["n2", "m2"] and names[14] == "n3"


PART = call("p", "operator.getitem", Ref("x0"), Ref("x1"))
READ = call("r", "torch.sum", Ref("p"))


@pytest.mark.parametrize(
    "change",
    [
        call("s", "operator.setitem", Ref("x0"), Ref("x1"), 0.0, meta=None),
        call("s", "torch.nn.functional.relu", Ref("x0"), inplace=True),
        Node("s", "grad_mode", "torch.set_grad_enabled", (False,)),
    ],
)
def test_a_part_is_read_before_what_is_changed_after_it(change: Node) -> None:
    inputs = (tensor("x0"), tensor("x1"))
    text = emitter.emit(Graph(inputs, (PART, change, READ), (Ref("r"),))).definitions
    assert "    v0 = x[y]\n" in text and "return torch.sum(v0)" in text
    text = emitter.emit(Graph(inputs, (change, PART, READ), (Ref("r"),))).definitions
    assert "return torch.sum(x[y])" in text


def test_an_item_of_a_tuple_stays_what_it_is() -> None:
    nodes = (
        call("t", "torch.split", Ref("x0"), 2, meta=(META, META)),
        call("p", "operator.getitem", Ref("t"), 0),
        call("s", "torch.nn.functional.relu", Ref("x0"), inplace=True, meta=None),
        READ,
    )
    text = emitter.emit(Graph((tensor("x0"),), nodes, (Ref("r"),))).definitions
    assert "return torch.sum(v0[0])" in text


def test_a_negative_base_is_not_the_negative_of_a_power() -> None:
    node = call("y", "operator.pow", -2, Ref("x0"))
    text = emitter.emit(Graph((tensor("x0"),), (node,), (Ref("y"),))).definitions
    assert "return (-2) ** x" in text


@pytest.mark.parametrize(
    ("target", "arguments", "text"),
    [
        ("operator.getitem", [Seq("tuple", ())], "x[()]"),
        ("operator.abs", [], "abs(x)"),
        ("getattr", ["mH"], "x.mH"),
        ("torch.linalg.qr", ["r"], "torch.linalg.qr(x, 'r')"),
    ],
)
def test_what_dynamo_puts_into_graphs_is_written(
    target: str, arguments: list[Any], text: str
) -> None:
    graph = Graph((tensor("x0"),), (call("y", target, Ref("x0"), *arguments),), (Ref("y"),))
    assert f"return {text}" in emitter.emit(graph).definitions


def test_every_operator_in_place_has_a_sign() -> None:
    assert {target.removeprefix("operator.") for target in IN_PLACE} == set(OPERATORS_IN_PLACE)


def test_a_comparison_of_sizes_is_an_operand_in_parentheses() -> None:
    nodes = (
        Node("n", "method", "size", (Ref("x0"), 0), meta="int"),
        call("differs", "operator.ne", Ref("n"), 3, meta="int"),
        call("factor", "operator.mul", Ref("differs"), 2, meta="int"),
        call("y", "operator.mul", Ref("x0"), Ref("factor")),
    )
    text = emitter.emit(Graph((tensor("x0"),), nodes, (Ref("y"),))).definitions
    assert "return x * ((x.size(0) != 3) * 2)" in text
