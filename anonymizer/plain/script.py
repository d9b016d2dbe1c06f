"""A program and its inputs taken apart into the statements of a flat script."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from anonymizer.graph.compilation import write_compilation
from anonymizer.graph.identifiers import NameSubstitution, find_names
from anonymizer.graph.program_factory import unwrap_script
from anonymizer.graph.randomness import draws_random_numbers, is_seed
from anonymizer.graph.repro import COMPILE, PROGRAM_FACTORY, ReproBody, ReproCheck
from anonymizer.kinds import EXPORTERS
from anonymizer.plain.function import tidy_functions

#: What the harness calls the program, and what people do.
_RENAMED = {"repro": "fn", "Repro": "Model"}
_SHORT = ("x", "y", "z", "w")
_LETTERS = (*_SHORT, "u", "v", "a", "b")
#: Generated names that need no number where there is one of them.
_NUMBERED = {"model": "model", "Block": "Model", "Thing": "Thing"}
#: What the statements around the call are written with.
_USED = frozenset(
    "actual call callee compiled copy eager exact expected fn function grads leaves model nn off"
    " out outs owners tangents torch F".split()
)
#: Longest argument into which another expression is written.
_WIDTH = 76
#: Layers whose constructors draw no weights.
_WEIGHTLESS = re.compile(
    r"\bnn\.(?:(?:Adaptive)?(?:Avg|Max)Pool\w*|Re[Ll][Uu]\w*|GELU|SiLU|Sigmoid|Tanh|Softmax|Flatten"
    r"|Unflatten|Identity|Dropout\w*|BatchNorm\w*|LayerNorm|GroupNorm|InstanceNorm\w*|RMSNorm"
    r"|Module|Sequential|ModuleList|ModuleDict|Parameter|functional|init|Pixel\w+|\w*Pad\w*"
    r"|Upsample|Fold|Unfold)\b"
)


@dataclass(frozen=True)
class Callee:
    """What a flat script compiles: an `expression`, and the statements `setup` that make it where
    it is an object. `compiled` is its name where the script's own statements have compiled it.
    """

    expression: str
    setup: str = ""
    is_module: bool = False
    compiled: str = ""


@dataclass(frozen=True)
class SizeLoop:
    """What changes from call to call: `names`, and for each call a row of values."""

    names: tuple[str, ...] = ()
    rows: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True)
class Script:
    """The parts of a flat script; every text is one or more complete statements.

    `arguments` are (name, expression) in the order of the call; `statements` come before them.
    """

    definitions: str
    called: Callee
    statements: tuple[str, ...]
    arguments: tuple[tuple[str, str], ...]
    imports: tuple[str, ...] = ()
    loop: SizeLoop = SizeLoop()

    @property
    def leaves(self) -> tuple[str, ...]:
        """The arguments whose gradients are asked for."""
        made = self.statements
        return tuple(name for name, text in self.arguments if _is_leaf(name, text, made))

    @property
    def draws_inputs(self) -> bool:
        """Whether the inputs are random."""
        made = [*self.statements, *(expression for _, expression in self.arguments)]
        return draws_random_numbers("\n".join(made))

    @property
    def draws_weights(self) -> bool:
        """Whether constructing the program draws random numbers."""
        made = f"{self.definitions}\n{self.called.setup}"
        layers = re.findall(r"\bnn\.[A-Z]\w*", made)
        return draws_random_numbers(made) or any(
            not _WEIGHTLESS.fullmatch(layer) for layer in layers
        )


def read_script(body: ReproBody, check: ReproCheck, keeps_names: bool = False) -> Script:
    """The statements of a program in the order in which they run.

    Args:
        keeps_names: the definitions stay word for word, for a program whose names are translated
            back to private ones.

    Raises:
        ValueError: the inputs are not made by assignments that end in one `return`.
    """
    if body.convention.is_script:
        return read_whole_script(body, check, keeps_names)
    tree, called = ast.parse(body.definitions), ast.parse(body.callable, mode="eval")
    if not keeps_names:
        rename_program(tree, [check.prelude, *body.inputs], called)
    made = called.body
    is_module = body.convention.is_module
    if not keeps_names:
        if check.compiler not in EXPORTERS:  # torch.export wants a module
            made, tree, is_module = _unwrap_module(made, tree, body.convention.is_module)
        tidy_functions(tree)
    convention = replace(body.convention, is_module=is_module)
    body = replace(body, convention=convention, callable=ast.unparse(made))
    callee, setup, tree = _choose_callee(made, tree, body, check)
    parameters = _list_parameters(tree, body)
    constants = {} if check.calls else dict(body.sizes)
    statements, arguments = _read_inputs(body, parameters, constants)
    # where arguments are observed, the same tensors are in both of two containers
    if not body.convention.observes_arguments:
        statements, arguments = _nest_arguments(statements, arguments)
    rows = tuple(tuple(size for _, size in call) for call in check.calls)
    sizes = [name for name, _ in body.sizes] if check.calls else []
    sizes, arguments = _loop_over_arguments(sizes, statements, arguments)
    return Script(
        definitions=ast.unparse(ast.fix_missing_locations(tree)),
        called=Callee(callee, setup, is_module),
        statements=tuple(statements),
        arguments=tuple(arguments),
        imports=body.imports,
        loop=SizeLoop(tuple(sizes), rows),
    )


def rename_program(tree: ast.Module, others: Iterable[str], *more: ast.AST) -> ast.Module:
    """Gives the program the name that people give it, in its definitions and `more`; `others` are
    texts that stand beside them.
    """
    names = _find_taken_names(tree, others)
    renaming = _NameRenaming({old: new for old, new in _RENAMED.items() if new not in names})
    for each in (tree, *more):
        renaming.visit(each)
    return tree


def _loop_over_arguments(
    sizes: list[str], statements: Sequence[str], arguments: list[tuple[str, str]]
) -> tuple[list[str], list[tuple[str, str]]]:
    """What differs from call to call has the name of the argument that it is, and the argument then
    no expression of its own.
    """
    texts = "\n".join([*statements, *(text for _, text in arguments)])
    for at, (name, text) in enumerate(arguments):
        if text in sizes and len(re.findall(rf"\b{text}\b", texts)) == 1:
            sizes = [name if size == text else size for size in sizes]
            arguments = [*arguments[:at], (name, ""), *arguments[at + 1 :]]
    return sizes, arguments


class _NameRenaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        return node


def _find_taken_names(tree: ast.AST, texts: Iterable[str]) -> set[str]:
    """Every identifier of the program, so that no new name takes the place of one."""
    found = find_names(tree)
    found |= {
        node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))
    }
    for text in texts:
        found |= set(re.findall(r"[A-Za-z_]\w*", text))
    return found


def _unwrap_module(
    made: ast.expr, tree: ast.Module, is_module: bool
) -> tuple[ast.expr, ast.Module, bool]:
    """A module without state is the function that its `forward` is."""
    name = re.sub(r"\(.*", "", ast.unparse(made))  # of `Repro()` or `Repro().eval()`
    owns = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    own = next(owns, None)
    forward = own.body[0] if own is not None and len(own.body) == 1 else None
    if not (is_module and isinstance(forward, ast.FunctionDef) and forward.name == "forward"):
        return made, tree, is_module
    receiver, *parameters = forward.args.args
    names = find_names(tree)
    defined = {getattr(node, "name", "") for node in tree.body}
    is_read = any(
        isinstance(node, ast.Name) and node.id == receiver.arg for node in ast.walk(forward)
    )
    if is_read or "fn" in names | defined or names & {name, "super"}:
        return made, tree, is_module
    forward.name, forward.args.args = "fn", parameters
    others = [forward if node is own else node for node in tree.body]
    return ast.Name("fn", ast.Load()), ast.Module(others, []), False


def _choose_callee(
    made: ast.expr, tree: ast.Module, body: ReproBody, check: ReproCheck
) -> tuple[str, str, ast.Module]:
    """What is compiled, the statement that makes it, and the definitions that are left."""
    if isinstance(made, ast.Name):
        return made.id, "", tree
    if ast.unparse(made) == f"{PROGRAM_FACTORY}()" and check.backward == "none":
        return ast.unparse(made), "", tree  # each side has one of its own
    name = "model" if body.convention.is_module else "function"
    layer = _find_only_layer(made, tree) if body.convention.is_module else None
    if layer is not None:
        made, tree = layer, ast.Module([], [])
    text = ast.unparse(made) + (".eval()" if check.evaluation and body.convention.is_module else "")
    return name, f"{name} = {text}", tree


def _find_only_layer(made: ast.expr, tree: ast.Module) -> ast.expr | None:
    """The stock layer that a module consists of, if it does nothing but call it with its own
    arguments.
    """
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.ClassDef):
        return None
    if not (isinstance(made, ast.Call) and not made.args and not made.keywords):
        return None
    methods = {node.name: node for node in tree.body[0].body if isinstance(node, ast.FunctionDef)}
    if set(methods) != {"__init__", "forward"}:
        return None
    init, forward = methods["__init__"], methods["forward"]
    if len(init.body) != 2 or len(forward.body) != 1:
        return None
    assigned, returned = init.body[1], forward.body[0]
    if not (isinstance(assigned, ast.Assign) and isinstance(returned, ast.Return)):
        return None
    target, call = ast.unparse(assigned.targets[0]), returned.value
    given = [parameter.arg for parameter in forward.args.args[1:]]
    is_same = isinstance(call, ast.Call) and ast.unparse(call) == f"{target}({', '.join(given)})"
    return assigned.value if is_same and "nn." in ast.unparse(assigned.value) else None


def _list_parameters(tree: ast.Module, body: ReproBody) -> list[str]:
    """The names that the program itself gives its arguments; none where they cannot be told."""
    name = body.callable
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if node.name == name and not body.convention.is_module:
                return [each.arg for each in node.args.args]
            if node.name == "forward" and body.convention.is_module:
                return [each.arg for each in node.args.args[1:]]
    return []


def _read_inputs(
    body: ReproBody, parameters: Sequence[str], constants: dict[str, float]
) -> tuple[list[str], list[tuple[str, str]]]:
    """The statements of `inputs()`, and the arguments that it returns, by name."""
    sizes = {name: ast.Constant(size) for name, size in constants.items()}
    *statements, last = NameSubstitution(sizes).visit(body.parse_inputs()).body
    if not (isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple)):
        raise ValueError("the inputs do not end in one tuple")
    values = last.value.elts
    if any(isinstance(value, ast.Starred) for value in values):
        raise ValueError("the number of inputs is not known")
    names = _choose_names(len(values), parameters)
    statements, values = _name_as_arguments(statements, values, names)
    bound = [value.id for value in values if isinstance(value, ast.Name)]
    inner = find_names(*statements)
    arguments: list[tuple[str, str]] = []
    for name, value in zip(names, values):
        if isinstance(value, ast.Name) and value.id in inner:
            arguments.append((value.id, ""))
        else:
            is_free = name not in inner and name not in bound and name not in _USED
            free = name if is_free else f"{name}_"
            arguments.append((free, _write_by_hand(ast.unparse(value))))
    return _put_in_line([_write_statement(each) for each in statements], arguments)


def _nest_arguments(
    statements: list[str], arguments: list[tuple[str, str]]
) -> tuple[list[str], list[tuple[str, str]]]:
    """What only one argument holds, such as a tensor in a list, is written inside of it; what is
    random stays, since the order of the draws counts.
    """
    for statement in list(statements):
        node = ast.parse(statement).body[0]
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        inner, value = node.targets[0].id, ast.unparse(node.value)
        others = [one for one in statements if one != statement]
        read = "\n".join([*others, *(text or name for name, text in arguments)])
        if "rand" in value or len(re.findall(rf"\b{inner}\b", read)) != 1:
            continue
        swap = NameSubstitution({inner: node.value})
        nested = [(name, _apply_change(text, swap)) for name, text in arguments]
        if nested != arguments and max(len(text) for _, text in nested) <= _WIDTH:
            statements, arguments = others, nested
    return statements, arguments


def _apply_change(text: str, change: ast.NodeTransformer) -> str:
    """An expression after a change; nothing stays nothing."""
    return ast.unparse(change.visit(ast.parse(text, mode="eval"))) if text else ""


def _write_statement(node: ast.stmt) -> str:
    """The text of a statement; what it assigns as people write it."""
    if isinstance(node, ast.Assign):
        return f"{ast.unparse(node.targets[0])} = {_write_by_hand(ast.unparse(node.value))}"
    return ast.unparse(node)


def _name_as_arguments(
    statements: list[ast.stmt], values: list[ast.expr], names: Sequence[str]
) -> tuple[list[ast.stmt], list[ast.expr]]:
    """Values that have a statement of their own, by the name of the argument that they are."""
    taken = find_names(*statements) | _USED
    made = find_names(*statements, context=ast.Store)
    renamed: dict[str, str] = {}
    for name, value in zip(names, values):
        if isinstance(value, ast.Name) and value.id in made and name not in taken:
            renamed.setdefault(value.id, name)
    visit = _NameRenaming(renamed).visit
    return [visit(one) for one in statements], [visit(one) for one in values]


def _put_in_line(
    statements: list[str], arguments: list[tuple[str, str]]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Statements that each make one argument, in the order of the call, are those arguments."""
    made = {
        node.targets[0].id: ast.unparse(node.value)
        for text in statements
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    plain = [f"{name} = {made.get(name)}" for name, text in arguments if not text]
    others = [text for text in statements if text not in plain]
    in_order = [text for text in statements if text in plain] == plain
    if in_order and all(map(is_seed, others)):
        return others, [(name, text or _write_by_hand(made[name])) for name, text in arguments]
    return statements, arguments


def _write_by_hand(text: str) -> str:
    """`torch.randn(2, requires_grad=True)` where the harness calls `requires_grad_()`."""
    creation = r"(torch\.(?:randn|rand|ones|zeros)\([^()]*)"
    made = re.fullmatch(creation + r"\)\.requires_grad_\(\)(\.clone\(\))?", text)
    if made:
        return f"{made.group(1)}, requires_grad=True){made.group(2) or ''}"
    return _write_constant(text)


def _write_constant(text: str) -> str:
    """A tensor of one value as people write it: of ones or zeros, or its only number."""
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "torch.full":
        return text
    given = {each.arg: ast.unparse(each.value) for each in call.keywords}
    if len(call.args) != 2 or not isinstance(call.args[0], ast.Tuple):
        return text
    sizes, value = call.args[0].elts, ast.unparse(call.args[1])
    dtype = given.pop("dtype", "")
    more = "".join(f", {name}={text}" for name, text in given.items())
    typed = f", dtype={dtype}" if dtype else ""
    if value in ("0.0", "1.0") or dtype and value in ("0", "1"):
        creation = "ones" if value.startswith("1") else "zeros"
        return f"torch.{creation}({', '.join(map(ast.unparse, sizes)) or '()'}{typed}{more})"
    is_implied = dtype == "torch.int64" and value.lstrip("-").isdecimal()
    if [ast.unparse(size) for size in sizes] == ["1"] and re.fullmatch(r"-?[\d.e+-]+", value):
        return f"torch.tensor([{value}]{'' if is_implied else typed}{more})"
    return text


def _choose_names(count: int, parameters: Sequence[str]) -> list[str]:
    if len(parameters) >= count and len(set(parameters)) == len(parameters):
        return list(parameters[:count])
    return list(_SHORT[:count]) if count <= len(_SHORT) else [f"x{index}" for index in range(count)]


def _is_leaf(name: str, text: str, statements: Iterable[str]) -> bool:
    made = [text] if text else [one for one in statements if one.startswith(f"{name} = ")]
    return any("requires_grad" in one for one in made)


# -- scripts that compile and call by themselves ---------------------------------------------------


def read_whole_script(body: ReproBody, check: ReproCheck, keeps_names: bool = False) -> Script:
    """The statements of a script up to its failing call, which is the last one.

    Raises:
        ValueError: what that call compiles, or is given, cannot be told.
    """
    statements, _ = unwrap_script(body.definitions)
    *made, last = statements if keeps_names else name_by_hand(statements)
    call = last.value if isinstance(last, ast.Assign) else None
    if not isinstance(call, ast.Call) or call.keywords:
        raise ValueError("the last statement is no call of arguments alone")
    if any(isinstance(each, ast.Starred) for each in call.args):
        raise ValueError("the number of inputs is not known")
    compiled = call.func.id if isinstance(call.func, ast.Name) else ""
    function = _find_compiled(made, compiled) if compiled else call.func
    if not _is_compile(function):
        raise ValueError("the last call is none of something compiled")
    callee = function.args[0]  # type: ignore[attr-defined]
    names = _choose_names(len(call.args), ())
    taken = find_names(*made)
    arguments = [
        (
            (given.id, "")
            if isinstance(given, ast.Name)
            else (_choose_free_name(name, taken), ast.unparse(given))
        )
        for name, given in zip(names, call.args)
    ]
    compilation = _Compilation(check)
    return Script(
        definitions="",
        called=Callee(ast.unparse(callee), compiled=compiled),
        statements=tuple(ast.unparse(compilation.visit(each)) for each in made),
        arguments=tuple(arguments),
        imports=body.imports,
    )


def _find_compiled(statements: Sequence[ast.stmt], name: str) -> ast.expr:
    """What a name is assigned, if that is done once."""
    values = [
        each.value
        for each in statements
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == name
    ]
    if len(values) != 1:
        raise ValueError("what is compiled has no name of its own")
    return values[0]


def _is_compile(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == COMPILE and bool(node.args)


def _choose_free_name(name: str, taken: Collection[str]) -> str:
    return f"{name}_" if name in taken else name


class _Compilation(ast.NodeTransformer):
    """What compiles, as torch calls it."""

    def __init__(self, check: ReproCheck) -> None:
        self.check = check

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not _is_compile(node):
            return node
        text = write_compilation(self.check, ast.unparse(node.args[0]), "")
        return ast.parse(text, mode="eval").body


def name_by_hand(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The statements with letters for generated names, as far as there are enough, and no number
    where there is one of a sort.
    """
    tree = ast.parse(_replace_by_letters("value", ast.unparse(ast.Module(statements, []))))
    tidy_functions(tree)
    text = _replace_by_letters("arg", ast.unparse(tree))  # what is left of them belongs to lambdas
    for prefix, name in _NUMBERED.items():
        if f"{prefix}2" not in text and not re.search(rf"\b{name}\b", text):
            text = re.sub(rf"\b{prefix}1\b", name, text)
    return ast.parse(text).body


def _replace_by_letters(prefix: str, text: str) -> str:
    """The text with a letter for each name of the prefix and a number; as it is, where there are
    not enough.
    """
    pattern = rf"\b{prefix}\d+\b"
    taken = set(re.findall(r"\b[a-z]\b", text))
    letters = [letter for letter in _LETTERS if letter not in taken]
    new = dict(zip(dict.fromkeys(re.findall(pattern, text)), letters))
    if len(set(re.findall(pattern, text))) > len(letters):
        return text
    return re.sub(pattern, lambda name: new[name[0]], text)
