"""Which operations a repro is made of, by the names that people search for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from anonymizer.graph.containers import name_container
from anonymizer.graph.repro import PROGRAM_FACTORY
from anonymizer.source.program import CONTAINER_METHODS, find_state_reader
from anonymizer.source.symbols.imports import STDLIB
from reporter.core.kinds import Layer

_SIGNS: dict[type[ast.operator], str] = {
    ast.MatMult: "torch.matmul",
    ast.Add: "torch.add",
    ast.Sub: "torch.sub",
    ast.Mult: "torch.mul",
    ast.Div: "torch.div",
    ast.FloorDiv: "torch.floor_divide",
    ast.Mod: "torch.remainder",
    ast.Pow: "torch.pow",
}
_BITS: dict[type[ast.operator], tuple[str, str]] = {
    ast.BitAnd: ("&=", "torch.bitwise_and"),
    ast.BitOr: ("|=", "torch.bitwise_or"),
    ast.BitXor: ("^=", "torch.bitwise_xor"),
    ast.LShift: ("<<=", "torch.bitwise_left_shift"),
    ast.RShift: (">>=", "torch.bitwise_right_shift"),
}
_ARITHMETIC = frozenset(_SIGNS.values()) - {"torch.matmul", "torch.floor_divide"}
_FUNCTION = "torch.autograd.Function"
_CUSTOM_OPERATOR = "torch.library.custom_op"
#: What NumPy calls arithmetic otherwise.
_OF_ARRAYS = {"sub": "subtract", "mul": "multiply", "div": "divide", "pow": "power"}
#: What changes a dtype and computes nothing.
_CONVERSIONS = frozenset("to type float double half bfloat16 int long short char byte bool".split())
#: Functions of the repro that every repro has.
_HARNESS = frozenset(("run", "inputs", "main", "leaves", "held", "tensors"))
#: Methods that every class has, and so tell nothing.
_USUAL = frozenset(("__init__", "__call__", "__new__"))
#: Builtins that tell what a program asks of Python; not those that every program calls, nor those
#: whose names torch has as well.
_BUILTINS = frozenset("""
    setattr delattr getattr hasattr isinstance issubclass callable type vars iter next zip map
    filter enumerate reversed sorted round divmod pow set frozenset dict complex hash id
    """.split())
_WORDS: dict[type[ast.AST], str] = {
    ast.Yield: "yield",
    ast.YieldFrom: "yield from",
    ast.Try: "try",
    ast.Nonlocal: "nonlocal",
    ast.Global: "global",
    ast.Lambda: "lambda",
}
#: Names that rewriting makes up.
_GENERATED = re.compile(r"(?:attr|method|helper|value|local|arg|state|make|operation)\d+", re.I)
#: Where torch has what changes functions.
_TRANSFORMS = ("torch.func.", "torch.autograd.")
#: What a tensor says of its own history, where that is what a program returns.
_HISTORY = frozenset("_version grad_fn is_leaf output_nr requires_grad retains_grad".split())
#: What reading a part of a tensor is called, which Python writes as `x[…]`.
READS = frozenset(("index", "select", "slice"))
#: What begins the names of decorators that are told.
_DECORATORS = ("torch.", "functools.", "contextlib.", "property")
#: How many words of Python are told before the operations.
_MOST_WORDS = 2


def name_operators(text: str, layer: Layer) -> tuple[str, ...]:
    """What a report names its repro by: the operations, and before them, if Dynamo is at fault,
    what of Python it has to follow; then arithmetic is not told.
    """
    words, named = list_python_words(text) if layer == Layer.DYNAMO else (), list_operators(text)
    return words if words and set(named) <= _ARITHMETIC else (*words, *named)


def list_python_words(text: str) -> tuple[str, ...]:
    """The least usual parts of Python in a repro: torch's own decorators first, then special names,
    statements, Python's decorators, and what is called; two at most.
    """
    tree = ast.parse(text)
    reader = find_state_reader(tree)
    unseen = {id(part) for part in ast.walk(reader)} if reader is not None else set()
    parts = [
        node
        for top in tree.body
        if isinstance(top, (ast.FunctionDef, ast.ClassDef)) and top.name not in _HARNESS
        for node in ast.walk(top)
        if id(node) not in unseen
    ]
    decorators = [name for node in parts for name in _list_decorators(node)]
    of_torch = [name for name in decorators if name.startswith("torch.")]
    special = [node.name for node in parts if isinstance(node, ast.FunctionDef)]
    special += [node.attr for node in parts if isinstance(node, ast.Attribute)]
    special = [name for name in special if re.fullmatch(r"__\w+__", name) and name not in _USUAL]
    hooks = [
        node.func.attr
        for node in parts
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr.endswith("_hook")
    ]
    words = [word for node in parts if (word := _name_statement(node))]
    if hooks:  # which are functions of one line
        words = [word for word in words if word != "lambda"]
    types = _find_container_types(tree)
    called = [_name_builtin(node.func, types) for node in parts if isinstance(node, ast.Call)]
    found = filter(None, [*of_torch, *hooks, *special, *words, *decorators, *called])
    return tuple(dict.fromkeys(found))[:_MOST_WORDS]


def _list_decorators(node: ast.AST) -> Iterator[str]:
    """What of torch or Python a function is decorated with, but for the compiler itself."""
    for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
        name = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if name.startswith(_DECORATORS) and name != "torch.compile":
            yield name
        elif name.endswith((".setter", ".deleter")):
            yield "property" + name[name.rindex(".") :]


def _name_statement(node: ast.AST) -> str:
    """The statement that a node is; of assignments in place those that sets and dictionaries have,
    too.
    """
    if isinstance(node, ast.AugAssign):
        return _BITS[type(node.op)][0] if type(node.op) in _BITS else ""
    return _WORDS.get(type(node), "")


def _name_builtin(function: ast.expr, types: Mapping[str, str]) -> str:
    """A builtin of `_BUILTINS`, or a container's method, with the container's type where `types`
    has it; empty for anything else.
    """
    if isinstance(function, ast.Name) and function.id in _BUILTINS:
        return function.id
    if not isinstance(function, ast.Attribute) or function.attr not in CONTAINER_METHODS:
        return ""
    owner = types.get(ast.unparse(function.value).rpartition(".")[2])
    return f"{owner}.{function.attr}" if owner else function.attr


def _find_container_types(tree: ast.Module) -> dict[str, str]:
    """The types of containers that outlive a call, by the last part of their names: variables and
    attributes that are no function's own, and arguments.
    """
    found: dict[str, str] = {}
    for node in _walk_outside_functions(tree):
        if isinstance(node, ast.Assign) and (kind := name_container(node.value)):
            found[ast.unparse(node.targets[0]).rpartition(".")[2]] = kind
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inputs = next((each for each in functions if each.name == "inputs"), None)
    entry = next((each for each in functions if each.name in ("repro", "forward")), None)
    given = getattr(inputs.body[-1], "value", None) if inputs is not None else None
    if entry is not None and isinstance(given, ast.Tuple):
        names = [each.arg for each in entry.args.args if each.arg != "self"]
        kinds = map(name_container, given.elts)
        found |= {name: kind for name, kind in zip(names, kinds) if kind}
    return found


def _walk_outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The statements of a program that run once: those of modules, classes, constructors, and of
    the function that makes a program with its state.
    """
    for child in ast.iter_child_nodes(node):
        runs_once = (PROGRAM_FACTORY, "__init__")
        if not isinstance(child, ast.FunctionDef) or child.name in runs_once:
            yield child
            yield from _walk_outside_functions(child)


def list_operators(text: str) -> tuple[str, ...]:
    """Names of the torch operations in `forward` (or `repro`), of a script in all its functions,
    each once; the contexts they run in are none. What an `autograd.Function` computes is told with
    its class where nothing is made of the program: then torch's part in it is what calls it.
    """
    tree = ast.parse(text)
    if _FUNCTION in _list_transforms(tree) and not re.search(r"\b(compile|export)\b", text):
        return (_FUNCTION,)
    layers = _find_layers(tree) | _find_custom_operators(tree) | _find_functions(tree)
    nodes = [node for function in _list_compiled(tree) for node in ast.walk(function)]
    blocks = [node for node in nodes if isinstance(node, ast.With)]
    contexts = {id(item.context_expr) for block in blocks for item in block.items}
    found: dict[str, None] = {}
    counted: dict[str, None] = {}
    read: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, ast.Call) and id(node) not in contexts:
            found[_name_callee(node.func, layers)] = None
        elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _SIGNS:
            (counted if _counts(node) else found)[_SIGNS[type(node.op)]] = None
        elif isinstance(node, ast.BinOp) and type(node.op) in _BITS:
            found[_BITS[type(node.op)][1]] = None
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            found[_name_assignment(node)] = None
        elif isinstance(node, ast.Subscript):
            read[_name_reading(node)] = None
        elif isinstance(node, ast.Return):
            found |= dict.fromkeys(_list_history(node))
    # Python's arithmetic is told only where there is nothing else to tell but what changes a dtype,
    # and that a part was read only where not even that
    named = [name for name in found if name]
    told = [name for name in named if name not in _ARITHMETIC]
    if _CONVERSIONS.issuperset(told):
        told = [*(name for name in named if name in _ARITHMETIC), *told]
    given = [*_list_compiled_calls(tree), *(told or counted or read)]
    if ".numpy()" in text:
        given = [_name_of_arrays(name) for name in given]
    return tuple(dict.fromkeys(given)) or _list_transforms(tree)


def _name_of_arrays(name: str) -> str:
    """What arithmetic of tensors is called between arrays of NumPy; any other name as it is."""
    if name not in _SIGNS.values():
        return name
    own = name.removeprefix("torch.")
    return f"numpy.{_OF_ARRAYS.get(own, own)}"


def _list_compiled(tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions of a program that are, or may be, compiled."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    factory = next((each for each in functions if each.name == PROGRAM_FACTORY), None)
    if factory is None or factory.args.args[:1] == []:  # no script
        return [each for each in functions if each.name in ("forward", "repro")]
    return [each for each in ast.walk(factory) if isinstance(each, ast.FunctionDef)][1:]


def _list_compiled_calls(tree: ast.Module) -> list[str]:
    """What a script hands to the compiler without a function of its own: a method of an object of
    torch (`torch.optim.SGD.step`), and the functions of torch that make it.
    """
    factory = next(
        (each for each in tree.body if getattr(each, "name", "") == PROGRAM_FACTORY), tree
    )
    given = [
        node.args[0]
        for node in ast.walk(factory)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "compile" and node.args
    ]
    names = []
    for made in given:
        if isinstance(made, ast.Attribute) and isinstance(made.value, ast.Call):
            names.append(f"{ast.unparse(made.value.func)}.{made.attr}")
        elif isinstance(made, ast.Call):
            calls = [node for node in ast.walk(made) if isinstance(node, ast.Call)]
            names += [ast.unparse(each.func) for each in calls]
    return [name for name in names if name.startswith("torch.")]


def _list_transforms(tree: ast.Module) -> tuple[str, ...]:
    """What a program without operations has of `torch.func` and `torch.autograd`: functions that
    take functions, also where they are handed on, and classes that are derived from.
    """
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called += [arg for node in ast.walk(tree) if isinstance(node, ast.Call) for arg in node.args]
    bases = [
        base for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases
    ]
    names = [ast.unparse(each) for each in (*called, *bases) if isinstance(each, ast.Attribute)]
    return tuple(dict.fromkeys(name for name in names if name.startswith(_TRANSFORMS)))


def _counts(node: ast.BinOp | ast.AugAssign) -> bool:
    """Whether a number is added to an attribute in place, as a counter of Python's does."""
    return (
        isinstance(node, ast.AugAssign)
        and isinstance(node.target, ast.Attribute)
        and isinstance(node.value, ast.Constant)
    )


def _list_history(returned: ast.Return) -> list[str]:
    """What of the history of its tensors a function returns."""
    value = returned.value
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    names = [each.attr for each in parts if isinstance(each, ast.Attribute)]
    return [name for name in names if name in _HISTORY]


def _name_reading(part: ast.Subscript) -> str:
    """The operator that reads a part of a tensor: `slice`, `select`, or `index` where an index is
    itself a tensor.
    """
    parts = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
    if any(isinstance(each, (ast.Name, ast.Call)) for each in parts):
        return "index"
    return "slice" if any(isinstance(each, ast.Slice) for each in parts) else "select"


def _name_assignment(target: ast.Subscript) -> str:
    """What an assignment to a part of a tensor is called: by indices that are tensors, or to a
    slice of it.
    """
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    by_tensor = any(isinstance(part, (ast.Name, ast.Call)) for part in parts)
    return "index_put_" if by_tensor else "__setitem__"


def _find_layers(tree: ast.Module) -> dict[str, str]:
    """The layers of torch among a repro's attributes, `self.attr1` as `nn.Embedding`."""
    return {
        ast.unparse(node.targets[0]): ast.unparse(node.value.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).startswith("nn.")
    }


def _find_custom_operators(tree: ast.Module) -> dict[str, str]:
    """What registers the operators that a repro has of its own, by their names."""
    return {
        ast.unparse(node.targets[0]): _CUSTOM_OPERATOR
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == _CUSTOM_OPERATOR
    }


def _find_functions(tree: ast.Module) -> dict[str, str]:
    """What the functions of autograd that a repro has of its own derive from, by how each is
    called.
    """
    return {
        f"{node.name}.apply": _FUNCTION
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and _FUNCTION in map(ast.unparse, node.bases)
    }


def _name_callee(node: ast.expr, layers: Mapping[str, str]) -> str:
    text = ast.unparse(node)
    if isinstance(node, ast.Call):  # what a call returned is called; that call tells itself
        return ""
    if isinstance(node, ast.Attribute) and node.attr in CONTAINER_METHODS:
        return ""
    if layers.get(text) in (_CUSTOM_OPERATOR, _FUNCTION) or _GENERATED.fullmatch(
        text.rpartition(".")[2]
    ):
        return layers.get(text, "")
    if isinstance(node, ast.Attribute) and any(isinstance(n, ast.Call) for n in ast.walk(node)):
        # a method of what a call returned; a special one of a base class is no operation
        return "" if re.fullmatch(r"__\w+__", node.attr) else node.attr
    if text.startswith("self.") and text.count(".") == 1:
        return text.removeprefix("self.").rstrip("0123456789_")
    if text.split(".")[0] in ("torch", "nn", "F", "numpy", *STDLIB):
        return text if "." in text else ""
    return text.rsplit(".", 1)[-1] if "." in text else ""
