"""The failing source as a public program: resolved, renamed, rebuilt; nothing private is ever
copied.

For failures that no captured graph shows (Dynamo's own crashes, `autograd.Function`, custom
backends). The target side gathers what the callable reaches (`collectors.source.source`); here each
definition is written anew from names that are generated, Python's, or torch's.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping

from anonymizer.source.inputs import Argument, InputsWriter
from anonymizer.source.objects.context import ProgramContext
from anonymizer.source.objects.tensors import ValueLevel
from anonymizer.source.objects.ties import tie
from anonymizer.source.objects.values import ValueWriter
from anonymizer.source.paths import find_tensor_paths
from anonymizer.source.program import PrivateCounterparts, SourceProgram
from anonymizer.source.sequences import find_sequences
from anonymizer.source.symbols.names import PublicNames
from anonymizer.source.symbols.symbol_table import SourceError, SymbolTable, list_parameters
from collectors.protocol.program_source import (
    CallArguments,
    GatheredJson,
    InstanceRecord,
    Reference,
)

__all__ = ["SourceError", "SourceProgram", "ValueLevel", "rebuild", "rebuild_backend"]


def rebuild(
    gathered: GatheredJson,
    vocabulary: Collection[str],
    level: ValueLevel = ValueLevel.RANGE,
) -> SourceProgram:
    """The public program of a gathered call. A custom backend is left to `rebuild_backend`.

    Args:
        gathered: what `collectors.source` found that the call reaches.
        vocabulary: the attribute names that exist on torch's objects.
        level: how close the values of tensors come to those of the program, for failures that
            depend on them.

    Returns:
        The program; its `problems` say what has no public form.

    Raises:
        SourceError: the source cannot be read, or the callable cannot be followed.
    """
    if gathered["entry"]["kind"] == "opaque":
        raise SourceError("the callable cannot be followed")
    context = ProgramContext.load(SymbolTable.load(gathered), PublicNames(vocabulary), level)
    values = ValueWriter(context)
    expression, entry = _write_entry(values, gathered["entry"])
    args = _place_arguments(context, entry, gathered)
    writer = InputsWriter(values)
    inputs = writer.write(args)
    earlier = [_place_arguments(context, entry, call) for call in gathered.get("earlier", ())]
    sequences = tuple(find_sequences(writer, args, earlier))
    return SourceProgram(
        definitions=ast.Module(_order_definitions(context.definitions.statements), []),
        callable_expression=expression,
        inputs=inputs,
        private=PrivateCounterparts(
            context.names.build_mapping(),
            context.names.reverse(),
            find_tensor_paths(values, _find_root(context, gathered["entry"]), args),
        ),
        problems=tuple(dict.fromkeys(context.definitions.problems)),
        sequences=sequences,
    )


def _find_root(context: ProgramContext, ref: Reference) -> tuple[str, Reference] | None:
    """Where the object of the entry is in the public program; None if it is a function, or among
    the globals.
    """
    owner = ref["owner"] if ref["kind"] == "method" else ref
    if owner["kind"] != "instance":
        return None
    record = context.symbols.get_instance(owner["id"])
    if not record["module"]:
        return None
    private = record["class"]["kind"] == "class"
    return ("entry" if private else "entry.body"), owner


def rebuild_backend(gathered: GatheredJson, vocabulary: Collection[str]) -> SourceProgram | None:
    """Only the custom backend, `def custom_backend(gm, example_inputs)`, with what it reaches.

    Args:
        gathered: what `collectors.source` found that the call reaches.
        vocabulary: the attribute names that exist on torch's objects.

    Returns:
        None where the call has no backend that is a function.

    Raises:
        SourceError: the source cannot be read.
    """
    backend = gathered.get("backend")
    if not backend or backend["kind"] != "function":
        return None
    names = PublicNames(vocabulary, lead="backend_")
    context = ProgramContext.load(SymbolTable.load(gathered), names, ValueLevel.RANGE)
    tree = context.symbols.trees[backend["id"]]
    for private, public in zip(list_parameters(tree), ("gm", "example_inputs")):
        names.fix_variable(private.arg, public)
    name = ValueWriter(context).functions.define(backend["id"], "custom_backend")
    reported = tuple(
        each
        for each in dict.fromkeys(context.definitions.problems)
        if each not in gathered.get("problems", ())
    )
    inputs = ast.Module([ast.Return(ast.Tuple([], ast.Load()))], [])
    definitions = ast.Module(_order_definitions(context.definitions.statements), [])
    return SourceProgram(
        definitions=definitions,
        callable_expression=name,
        inputs=inputs,
        backend=name,
        private=PrivateCounterparts(names.build_mapping(), names.reverse()),
        problems=reported,
    )


def _write_entry(values: ValueWriter, ref: Reference) -> tuple[str, ast.arguments | None]:
    """The expression of the callable, and the signature that the inputs are for."""
    context = values.context
    if ref["kind"] == "function" and _takes_any_keywords(context, ref["id"]):
        return _define_function(context, ast.unparse(values.refer(ref, "entry", False))), None
    if ref["kind"] == "function":
        if ref["id"] in context.owners:
            context.definitions.problems.append("a static method as the entry")
        name = values.functions.define(ref["id"], "repro")
        return name, _find_signature(context, name, None)
    owner = ref["owner"] if ref["kind"] == "method" else ref
    if owner["kind"] == "instance":
        key = owner["id"]
        record = context.symbols.get_instance(key)
        if record["module"] and record["class"]["kind"] == "class":
            values.classes.refer(record["class"]["id"], "Repro")
            text = ast.unparse(values.build({"kind": "instance", "id": key}))
            text += "" if record["training"] else ".eval()"
            wanted = ref["name"] if ref["kind"] == "method" else "forward"
            public = context.decisions.name_member(record["class"]["id"], wanted)
            signature = _find_signature(context, "Repro", public)
            return text if public == "forward" else f"{text}.{public}", signature
        if record["module"]:
            if ref["kind"] == "method":
                raise SourceError("the callable is a method of a stock layer")
            return _wrap(values, key, record), None
    inner = ast.unparse(values.refer(ref, "entry", False))
    return _define_function(context, inner), None


def _takes_any_keywords(context: ProgramContext, key: str) -> bool:
    """Whether arguments were given by keyword to a function that takes any, or any number of
    others, so that no position stands for them.
    """
    taken = context.symbols.trees[key].args
    return bool(context.symbols.gathered["kwargs"]) and bool(taken.vararg or taken.kwarg)


def _wrap(values: ValueWriter, key: str, record: InstanceRecord) -> str:
    """A stock layer or container as the entry gets a module around it."""
    context = values.context
    names, given = _name_parameters(context)
    body = ast.unparse(values.build({"kind": "instance", "id": key}))
    text = (
        "class Repro(nn.Module):\n    def __init__(self):\n        super().__init__()\n       "
        f" self.body = {body}\n\n    def forward(self,"
        f" {names}):\n        return self.body({given})\n"
    )
    made = ast.parse(text).body
    made[0].body[0].body += tie(context, "self.body", key)  # type: ignore[attr-defined]
    context.definitions.statements["Repro"] = list(made)
    return "Repro()" if record["training"] else "Repro().eval()"


def _define_function(context: ProgramContext, inner: str) -> str:
    names, given = _name_parameters(context)
    context.definitions.statements["repro"] = list(
        ast.parse(f"def repro({names}):\n    return {inner}({given})").body
    )
    return "repro"


def _name_parameters(context: ProgramContext) -> tuple[str, str]:
    """The parameters of an entry that has no signature, and what it hands on: positional arguments,
    then those that were given by keyword.
    """
    words = _list_public_keywords(context)
    count = len(context.symbols.gathered["args"])
    names = ["x" if index == 0 else f"x{index}" for index in range(count + len(words))]
    given = [*names[:count], *(f"{word}={name}" for word, name in zip(words, names[count:]))]
    return ", ".join(names), ", ".join(given)


def _list_public_keywords(context: ProgramContext) -> list[str]:
    """The words by which the call gives arguments; none where one has no public form."""
    vocabulary = context.names.vocabulary
    words = [
        context.names.find_variable(name)
        or (name if name in vocabulary else context.names.rewrite_text(name))
        for name in context.symbols.gathered["kwargs"]
    ]
    return words if all(word.isidentifier() for word in words) else []


def _find_signature(context: ProgramContext, name: str, method: str | None) -> ast.arguments | None:
    for node in context.definitions.statements[name]:
        for part in [node] if method is None else getattr(node, "body", []):
            if isinstance(part, ast.FunctionDef) and method in (None, part.name):
                return part.args
    return None


def _place_arguments(
    context: ProgramContext, signature: ast.arguments | None, call: CallArguments
) -> list[Argument]:
    """Positional arguments; what was given by keyword is put in its place, and the signature made
    to take it.
    """
    args: list[Argument] = list(call["args"])
    named = dict(call["kwargs"])
    if not named:
        return args
    if signature is None:
        if _list_public_keywords(context):
            return args + [
                named[name] for name in context.symbols.gathered["kwargs"] if name in named
            ]
        context.definitions.problems.append("keyword arguments of an entry without a signature")
        return args
    public = {context.names.find_variable(name) or name: ref for name, ref in named.items()}
    if not signature.vararg:
        signature.args += signature.kwonlyargs
        signature.defaults += [each or ast.Constant(None) for each in signature.kw_defaults]
        signature.kwonlyargs, signature.kw_defaults = [], []
    names = [each.arg for each in [*signature.posonlyargs, *signature.args] if each.arg != "self"]
    defaults = dict(zip(reversed(names), reversed(signature.defaults)))
    while public and len(args) < len(names):
        name = names[len(args)]
        ref = public.pop(name, None)
        default = defaults.get(name, ast.Constant(None))
        args.append(ref if ref is not None else {"kind": "tree", "tree": default})
    if public:
        context.definitions.problems.append("keyword arguments that no parameter takes")
    return args


def _order_definitions(statements: Mapping[str, list[ast.stmt]]) -> list[ast.stmt]:
    """Definitions in an order in which each finds what it needs while it is executed."""
    done: list[ast.stmt] = []
    state: dict[str, bool] = {}

    def visit(name: str, whole: bool) -> None:
        if state.get(name):
            return
        state[name] = True
        for each in statements[name]:
            for other in _find_needed(each, statements, whole):
                visit(other, whole or isinstance(statements[other][0], ast.Assign))
        done.extend(statements[name])

    for name in sorted(
        statements,
        key=lambda each: (each in ("Repro", "repro"), not _is_definition(statements[each])),
    ):
        visit(name, not _is_definition(statements[name]))
    return done


def _is_definition(nodes: Iterable[ast.stmt]) -> bool:
    return all(
        isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for each in nodes
    )


def _find_needed(
    node: ast.stmt, statements: Mapping[str, list[ast.stmt]], whole: bool
) -> list[str]:
    """Names of definitions that must stand before `node`; `whole`: its functions are called at
    once.
    """
    found: list[str] = []

    def visit(part: ast.AST, deep: bool) -> None:
        if isinstance(part, ast.Name) and part.id in statements:
            found.append(part.id)
        for child in ast.iter_child_nodes(part):
            if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and not deep:
                body = part.body if isinstance(part.body, list) else [part.body]
                if any(child is each for each in body):
                    continue
            visit(child, deep)

    visit(node, whole)
    return list(dict.fromkeys(found))
