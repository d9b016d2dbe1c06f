"""What is made of a program before it is called: compiled, exported, packaged, or nothing."""

from __future__ import annotations

import ast
from dataclasses import replace

from anonymizer.graph.repro import MODULE_CALL, ReproAssertion, ReproBody
from anonymizer.kinds import Compiler

#: The step that writes an exported program to a file and reads it again, and the prelude that it
#: needs.
_RELOAD = "reload"
_RELOADING = f"""import io


def {_RELOAD}(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)"""


def add_reloading(assertion: ReproAssertion) -> ReproAssertion:
    """The assertion of a program that is saved as one that the repro saves and loads, too."""
    steps = tuple(_RELOAD if step == "save" else step for step in assertion.steps)
    prelude = "\n\n\n".join(part for part in (assertion.prelude, _RELOADING) if part)
    return replace(assertion, steps=steps, prelude=prelude)


def is_reloaded(assertion: ReproAssertion) -> bool:
    """Whether the repro saves and loads the exported program."""
    return _RELOAD in assertion.steps


def write_saving(assertion: ReproAssertion, model: str, args: str) -> str:
    """The expression that saves what is exported, and nothing after it; it needs `io`.

    The arguments are those of `write_export`: `model`, `args`.
    """
    steps = assertion.steps[: assertion.steps.index(_RELOAD)]
    saved = replace(assertion, compiler=Compiler.EXPORT, steps=steps)
    return f"torch.export.save({write_export(saved, model, args)}, io.BytesIO())"


def drop_reloading(prelude: str) -> str:
    """A prelude without the function that saves and loads a program."""
    return prelude.replace(_RELOADING.partition("\n")[2].strip("\n"), "").strip("\n")


def wrap_in_module(body: ReproBody) -> ReproBody:
    """The body with its function as the `forward` of a module; torch.export takes nothing else.

    Raises:
        ValueError: the callable is no function of the body's own definitions.
    """
    if body.convention.is_module:
        return body
    tree = ast.parse(body.definitions)
    for index, node in enumerate(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name == body.callable:
            node.args.args.insert(0, ast.arg("self"))
            node.name = "forward"
            base = ast.Attribute(
                ast.Attribute(ast.Name("torch", ast.Load()), "nn", ast.Load()), "Module", ast.Load()
            )
            tree.body[index] = ast.ClassDef("Repro", [base], [], [node], [])
            definitions = ast.unparse(ast.fix_missing_locations(tree))
            return replace(
                body, definitions=definitions, callable="Repro()", convention=MODULE_CALL
            )
    raise ValueError(f"{body.callable} is no function of the program")


def write_compilation(assertion: ReproAssertion, model: str, args: str) -> str:
    """The expression of what the assertion makes of a program: the text of a callable.

    Args:
        model: the expression of the program.
        args: the text of a tuple, the arguments that it is exported for.
    """
    if assertion.compiler == Compiler.COMPILE:
        return f"torch.compile({model}{assertion.write_arguments()})"
    if assertion.compiler == Compiler.EAGER:
        return model
    made = write_export(assertion, model, args)
    if assertion.compiler == Compiler.AOTI:
        return f"torch._inductor.aoti_load_package({made})"
    if assertion.compiler == Compiler.ONNX:
        return made
    return made if "unflatten" in assertion.steps else f"{made}.module()"


def write_export(assertion: ReproAssertion, model: str, args: str) -> str:
    """The expression of what is exported and not called: a program, an unflattened module, the path
    of a package, or a model of Compiler.ONNX, which returns a tuple.

    Args:
        model: the expression of the program, a module.
        args: the text of a tuple, the arguments that it is exported for.
    """
    options = assertion.write_arguments().replace(" in args]", f" in {args}]")
    if assertion.compiler == Compiler.ONNX and assertion.steps == ("onnx",):
        return f"torch.onnx.export({model}, {args}, dynamo=True{options})"
    export = "draft_export" if "draft" in assertion.steps else "export"
    program = f"torch.export.{export}({model}, {args}{options})"
    for step in assertion.steps:
        if step == "decompose":
            program += ".run_decompositions()"
        elif step == _RELOAD:
            program = f"{_RELOAD}({program})"
    if assertion.compiler == Compiler.ONNX:
        return f"torch.onnx.export({program}, dynamo=True)"
    if assertion.compiler == Compiler.AOTI:
        return f"torch._inductor.aoti_compile_and_package({program})"
    return f"torch.export.unflatten({program})" if "unflatten" in assertion.steps else program
