"""What the parts of a rewriting share: the private program, and the public one so far."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from anonymizer.source.objects.tensors import ValueLevel
from anonymizer.source.symbols.inference import infer
from anonymizer.source.symbols.names import PublicNames
from anonymizer.source.symbols.naming_policy import NamingPolicy
from anonymizer.source.symbols.symbol_table import MethodOwner, SymbolTable
from collectors.protocol.program_source import Reference


@dataclass
class Definitions:
    """The public program so far.

    `statements`: public name -> definition, in the order of discovery. `public`: id of a gathered
    class or function -> its public name. `roots`: global -> the value behind it. `problems` says
    what has no public form, in words that hold nothing private.
    """

    statements: dict[str, list[ast.stmt]] = field(default_factory=dict)
    public: dict[str, str] = field(default_factory=dict)
    roots: dict[str, Reference] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ProgramContext:
    """One rewriting of one gathered program.

    `owners`: id of a method -> what it is a method of. `level` is how close the values of tensors
    come to those of the program.
    """

    symbols: SymbolTable
    names: PublicNames
    decisions: NamingPolicy
    owners: Mapping[str, MethodOwner]
    definitions: Definitions
    level: ValueLevel

    @classmethod
    def load(cls, symbols: SymbolTable, names: PublicNames, level: ValueLevel) -> ProgramContext:
        """Where a rewriting begins: nothing of the public program is written yet.

        Args:
            symbols: the gathered program.
            names: changed: it learns the words of the private program, so that no public name is
                one.
            level: how close the values of tensors come to those of the program.
        """
        # a `__getattr__` compares with text what nobody has ever stored
        written = symbols.collect_read_attributes() - names.vocabulary
        names.attributes = frozenset(
            symbols.collect_attributes() | symbols.collect_keys() | written
        )
        names.parameters = frozenset(symbols.collect_parameters())
        texts = symbols.collect_texts() | symbols.collect_keys()
        names.shared = names.attributes & names.parameters & texts
        names.private |= symbols.collect_words()
        decisions = NamingPolicy(symbols, infer(symbols), names)
        definitions = Definitions(problems=list(symbols.gathered.get("problems", ())))
        return cls(symbols, names, decisions, symbols.map_owners(), definitions, level)


class Values(Protocol):
    """What writes a class, a function or an object asks for the values in it."""

    def build(self, ref: Reference) -> ast.expr:
        """The constructor expression of any gathered value."""

    def refer(self, ref: Reference, name: str, stored: bool) -> ast.expr:
        """The expression for a value met in a function body; see `ValueWriter.refer`.

        Args:
            name: what the body calls the value; "" where it may stand inline.
            stored: whether some function assigns that name.
        """
