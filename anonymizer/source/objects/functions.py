"""Functions of the gathered program, defined under public names when something first needs them."""

from __future__ import annotations

from anonymizer.source.objects.classes import ClassWriter
from anonymizer.source.objects.context import ProgramContext, Values
from anonymizer.source.objects.function_body import Rewriter


class FunctionWriter:
    """Defines functions; a static method is reached by its class."""

    def __init__(self, context: ProgramContext, values: Values, classes: ClassWriter) -> None:
        self._context = context
        self._values = values
        self._classes = classes

    def refer(self, key: str) -> str:
        """The public name of a gathered function, which is defined on the way."""
        context = self._context
        if key in context.definitions.public:
            return context.definitions.public[key]
        if key in context.owners and context.owners[key].kind == "static":
            owner, name = context.owners[key].key, context.owners[key].name
            return f"{self._classes.refer(owner)}.{context.decisions.name_member(owner, name)}"
        return self.define(key, context.names.take_unused("helper"))

    def define(self, key: str, name: str) -> str:
        """Defines a gathered function under a public name, which it returns."""
        context, made = self._context, self._context.definitions
        made.public[key] = name
        private = context.symbols.get_function(key)["name"]
        context.names.note_definition(private, name)
        made.statements[name] = []  # in its place, before what its body needs
        rewriter = Rewriter(key, context.decisions, self._values.refer, made.problems)
        made.statements[name] = [rewriter.rewrite(name, context.owners.get(key))]
        return name
