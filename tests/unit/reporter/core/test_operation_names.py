"""The operators of a repro, by the names that people search for."""

from __future__ import annotations

import pytest

from reporter.core.kinds import Layer
from reporter.core.operation_names import list_operators, list_python_words, name_operators
from tests.support.scripts import text


def test_operators_are_named_as_people_call_them() -> None:
    named = list_operators(text("operators/matmul_under_autocast"))
    assert set(named) == {"torch.matmul", "torch.take", "size"}
    assert list_operators("def repro(x, y):\n    return x + y\n") == ("torch.add",)
    converted = "def repro(x, y):\n    return (x + y).to(torch.int16)"
    assert list_operators(converted) == ("torch.add", "to")
    assert list_operators(converted.replace("x + y", "torch.relu(x)")) == ("to", "torch.relu")
    written = list_operators(text("operators/writes_by_index"))
    assert written == ("index_put_", "__setitem__")
    asked = list_operators("def repro(x):\n    x.add_(1)\n    return x._version")
    assert set(asked) == {"add_", "_version"}
    numbered = "def repro(self, x):\n    return self.weight1.conj() * self.conv1(x)"
    assert list_operators(numbered) == ("conj", "conv")


def test_what_is_not_torchs_own_is_named_by_where_it_comes_from() -> None:
    program = (
        "def helper1(x, y):\n    y.copy_(x)\n\n"
        "operator1 = torch.library.custom_op('repro::operator1', helper1, mutates_args=('y',))\n\n"
        "def repro(x):\n    operator1(x.clone(), x)\n    return x * float(os.getenv('text1'))\n"
    )
    assert set(list_operators(program)) == {"torch.library.custom_op", "clone", "os.getenv"}


def test_a_hook_tells_more_than_the_function_that_it_is() -> None:
    program = (
        "def program(compile):\n"
        "    class Thing1(nn.Module):\n"
        "        def __init__(self):\n"
        "            super().__init__()\n"
        "            self.attr1 = nn.Linear(2, 2)\n"
        "        def forward(self, x):\n"
        "            return self.attr1(x)\n"
        "    value1 = Thing1()\n"
        "    value1.attr1.register_forward_hook(lambda a, b, c: c + 1)\n"
        "    return compile(value1)(torch.ones(2, 2))\n"
    )
    assert name_operators(program, Layer.DYNAMO) == ("register_forward_hook", "nn.Linear")


def test_arithmetic_of_arrays_is_numpys() -> None:
    program = (
        "def repro(x):\n    return {}\n\n\ndef inputs():\n    return (torch.ones(3).numpy(),)\n"
    )
    assert name_operators(program.format("x / 2"), Layer.DYNAMO) == ("numpy.divide",)
    assert list_operators(program.format("x @ x")) == ("numpy.matmul",)
    assert list_operators(program.format("numpy.cumsum(x) + 1")) == ("numpy.cumsum",)


def test_transforms_are_named_where_there_is_no_operation() -> None:
    program = (
        "class Own(torch.autograd.Function):\n    pass\n\n"
        "def total(x):\n    return Own.apply(x).sum()\n\n"
        "torch.testing.assert_close(torch.compile(torch.func.grad(total))(torch.ones(2)))\n"
    )
    assert set(list_operators(program)) == {"torch.func.grad", "torch.autograd.Function"}
    handed = "torch.inference_mode(True)(torch.func.jvp)(total, (x,), (x,))\n"
    assert list_operators(handed) == ("torch.func.jvp",)
    operation = program.replace("def total", "def repro")
    assert set(list_operators(operation)) == {"torch.autograd.Function", "sum"}


@pytest.mark.parametrize(
    ("read", "name"),
    [
        ("x[:, ::2]", "slice"),
        ("x[0, 1:]", "slice"),
        ("x[..., -1]", "select"),
        ("x[:, rows]", "index"),
        ("x[torch.tensor([0])] + y", "torch.tensor"),
    ],
)
def test_a_part_that_is_read_is_named_where_nothing_else_is(read: str, name: str) -> None:
    assert list_operators(f"def repro(x, y):\n    return {read}") == (name,)


def test_a_setter_is_named_before_the_arithmetic_in_it() -> None:
    program = (
        "class Thing1(nn.Module):\n    @property\n    def attr1(self):\n        return self.attr2\n\n"
        "    @attr1.setter\n    def attr1(self, value1):\n        self.attr2 = value1 * 2\n"
    )
    assert list_python_words(program) == ("property", "property.setter")
    assert name_operators(program, Layer.DYNAMO) == ("property", "property.setter")
    cached = "@functools.lru_cache\ndef helper1(x):\n    return x.sin()"
    assert name_operators(cached, Layer.DYNAMO) == ("functools.lru_cache",)


def test_where_dynamo_is_at_fault_python_is_named_first() -> None:
    both = text("operators/python_and_torch")
    assert name_operators(both, Layer.DYNAMO) == ("__class__", "try", "torch.stack")
    assert name_operators(both, Layer.INDUCTOR) == ("torch.stack",)
    assert name_operators(text("operators/appends_and_asks_for_a_type"), Layer.DYNAMO) == (
        "append",
        "type",
    )


REWRITTEN = """
def program():
    class Thing1:
        items = []
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.attr1 = nn.Embedding(4, 4)
            self.attr2 = Thing1()
        def forward(self, x):
            y = self.attr1(x)
            self.attr2.method1(y)
            return torch.func.grad(lambda z: helper1(z))(y)
    model = Model()
    return (model, lambda: [list(Thing1.items)])
"""


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (
            "def program():\n    attr1 = []\n    def repro(x):\n        attr1.append(x)",
            "list.append",
        ),
        (
            "class Repro(nn.Module):\n    attr1 = {}\n    def forward(self, x):\n"
            "        Repro.attr1.setdefault(1, x)",
            "dict.setdefault",
        ),
        (
            "class Thing1:\n    def __init__(self):\n        self.attr1 = {1}\n"
            "def repro(x, y):\n    y.attr1.discard(1)",
            "set.discard",
        ),
        (
            "def repro(x, y):\n    y.pop()\ndef inputs():\n"
            "    return (torch.ones(2), collections.deque([1]))",
            "deque.pop",
        ),
        (
            "def program():\n    attr1 = collections.OrderedDict()\n    def repro(x):\n"
            "        x.unsqueeze(1)\n        attr1.move_to_end(1)",
            "OrderedDict.move_to_end",
        ),
        ("def repro(x):\n    y = []\n    y.append(x)", "append"),
    ],
)
def test_a_method_of_what_outlives_the_call_is_named_with_its_type(program: str, name: str) -> None:
    assert list_python_words(program) == (name,)


def test_methods_of_containers_are_no_operations_but_those_that_tensors_have() -> None:
    program = "def repro(x, y):\n    y.move_to_end(1)\n    y.rotate(1)\n    return x.unsqueeze(1)"
    assert list_operators(program) == ("unsqueeze",)
    assert list_operators("def repro(x):\n    return x.split(2)") == ("split",)
    assert list_operators("def repro(x):\n    return x.add(x)") == ("add",)


def test_names_that_rewriting_made_up_are_none() -> None:
    assert list_operators(REWRITTEN) == ("nn.Embedding", "torch.func.grad")
    assert "lambda" in list_python_words(REWRITTEN)
    assert list_python_words(REWRITTEN.replace("lambda z: helper1(z)", "helper1")) == ()


def test_bits_are_named_as_operators_and_in_place_as_statements() -> None:
    assert list_operators("def repro(x, y):\n    return (x << y) & 1") == (
        "torch.bitwise_and",
        "torch.bitwise_left_shift",
    )
    union = "def repro(x, seen):\n    seen |= {1}\n    return x.cos()"
    assert name_operators(union, Layer.DYNAMO) == ("|=", "cos")
    assert name_operators(union.replace("x.cos()", "x + 1"), Layer.DYNAMO) == ("|=",)
    assert name_operators(union, Layer.INDUCTOR) == ("cos",)


def test_torchs_decorators_come_before_pythons_words() -> None:
    program = """
import torch

@torch.compiler.nested_compile_region
def helper():
    return state + 1

@torch.compile
def fn(x):
    global state
    state = x
    return helper()
"""
    assert name_operators(program, Layer.DYNAMO)[:2] == (
        "torch.compiler.nested_compile_region",
        "global",
    )


def test_of_a_script_the_operators_of_all_its_functions_are_told() -> None:
    text = """
def program(compile):
    def fn(value1):
        return torch.bucketize(0.1, value1)
    value1 = torch.tensor([0.1])
    out = compile(fn)(value1)
    return (out, (value1,))
"""
    assert list_operators(text) == ("torch.bucketize",)


@pytest.mark.parametrize(
    ("compiled", "names"),
    [
        ("torch.optim.SGD(model.parameters()).step", ("torch.optim.SGD.step", "abs")),
        (
            "torch.func.vmap(torch.func.hessian(model))",
            ("torch.func.vmap", "torch.func.hessian", "abs"),
        ),
        ("model", ("abs",)),
        ("Model()", ("abs",)),
    ],
)
def test_a_script_names_what_of_torch_is_compiled_and_no_constructor(
    compiled: str, names: tuple[str, ...]
) -> None:
    program = (
        "def program(compile):\n    class Model(nn.Module):\n        def __init__(self):\n"
        "            super().__init__()\n\n        def forward(self, x):\n"
        f"            return x.abs()\n    model = Model()\n    out = compile({compiled})()\n"
        "    return (out, ())\n"
    )
    assert list_operators(program) == names


def test_a_special_method_is_named_once_and_is_no_operation() -> None:
    program = (
        "def program(compile):\n    class Thing1(torch.Tensor):\n        @classmethod\n"
        "        def __torch_function__(cls, arg1, arg2, arg3=(), arg4=None):\n"
        "            return super().__torch_function__(arg1, arg2, arg3, arg4) * 2\n\n"
        "    def helper1(value1):\n        return torch.sin(value1)\n\n"
        "    out = compile(helper1)(torch.ones(1).as_subclass(Thing1))\n    return (out, ())\n"
    )
    assert name_operators(program, Layer.DYNAMO) == ("__torch_function__", "torch.sin")


def test_an_own_function_is_named_by_its_class_where_nothing_is_compiled() -> None:
    program = (
        "class Own(torch.autograd.Function):\n    @staticmethod\n    def forward(x):\n"
        "        return x * x\n\n\nstate = Own.apply\n\n\ndef repro(x):\n    return state(x)\n"
    )
    assert list_operators(program) == ("torch.autograd.Function",)
    assert list_operators(program + "\n\ntorch.compile(repro)(torch.ones(2))\n") == ("torch.mul",)


def test_a_function_of_autograd_is_named_by_its_base_and_what_it_asks_of_its_context() -> None:
    program = (
        "class Operation1(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        ctx.mark_dirty(x)\n"
        "        return x\n\n"
        "class Repro(nn.Module):\n"
        "    def forward(self, x):\n"
        "        return Operation1.apply(x.clone())\n\n"
        "def run(compile):\n    return compile(Repro())(torch.ones(2))\n"
    )
    assert set(list_operators(program)) == {"torch.autograd.Function", "mark_dirty", "clone"}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("return x / round(2.5, -1)", ("round",)),
        ("y = iter([x])\n    return next(y) + 1", ("iter", "next")),
        ("return torch.relu(x) * sum(range(len(x)))", ("torch.relu",)),
    ],
)
def test_python_that_dynamo_follows_is_named_before_arithmetic(
    body: str, named: tuple[str, ...]
) -> None:
    program = f"def repro(x):\n    {body}\n"
    assert name_operators(program, Layer.DYNAMO) == named
