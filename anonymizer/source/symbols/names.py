"""One private word, one public word: everywhere the same, and the public one never hints at the
private one.

Two tables, one for attributes and one for variables: a parameter is a keyword of the caller and may
be a key of a dictionary, so they share one. Text that names an attribute or a parameter is renamed
with it, and what is all three (`vars(options)["weight"]` of `Options(weight)`) has one public word.
"""

from __future__ import annotations

import builtins
import keyword
import random
import re
from collections.abc import Collection

from anonymizer.leakcheck.vocabulary import (
    PUBLIC_STRINGS,
    NameParts,
    is_dunder,
    load_dunders,
)

# Text that torch.fx and torch's operators give a meaning to, for backends and generic code.
_INTERFACE_STRINGS = PUBLIC_STRINGS | frozenset("""
    placeholder get_attr call_function call_method call_module output root example_value val
    tensor_meta stack_trace nn_module_stack source_fn source_fn_stack high low left right up down
    auto float32 float16 bfloat16 float64 int64 int32 int16 int8 uint8 bool causal math flash sdpa
    batch_mean same_upper inf -inf nan
    """.split())
# What a custom backend and an autograd.Function may ask of torch.fx, symbolic sizes and the
# context.
_INTERFACE_NAMES = frozenset("""
    graph nodes node op target args kwargs users meta name hint recompile forward code owning_module
    graph_module all_input_nodes next prev replace_all_uses_with replace_input_with erase_node
    inserting_after inserting_before call_function call_method call_module placeholder output
    get_attr create_node lint eliminate_dead_code print_tabular find_nodes named_modules
    get_submodule expr maybe_as_int shape_env save_for_backward saved_tensors needs_input_grad
    mark_dirty mark_non_differentiable set_materialize_grads apply dirty_tensors
    """.split())
# Methods of OrderedDict and deque.
_OF_COLLECTIONS = frozenset("popitem move_to_end popleft appendleft extendleft rotate".split())
# Methods of generators of random numbers, Python's and NumPy's.
_OF_GENERATORS = frozenset(name for name in dir(random.Random) if name[0] != "_") | frozenset(
    "integers normal permutation permuted rand randn random_sample standard_normal".split()
)
_DEFINITIONS = frozenset({"helper", "state", "make", "Block", "Thing", "Operation", "Error"})
_EINSUM = re.compile(r"[A-Za-z. ]*(?:,[A-Za-z. ]*)*->[A-Za-z. ]*")
_IMPLICIT_EINSUM = re.compile(r"[A-Za-z. ]+(?:,[A-Za-z. ]+)*")
_BUILTINS = frozenset(dir(builtins)) | frozenset(keyword.kwlist) | frozenset(keyword.softkwlist)


class PublicNames:
    """Hands out public names.

    `vocabulary` is torch's own; `private` every identifier of the private program; `lead` goes
    before names of definitions, for a program that will stand next to another. `tables` have the
    public word of each private one, by its role. `attributes` and `parameters` are the private
    words that text may name, `shared` those that are both and text as well; `used` the public names
    that are taken.
    """

    def __init__(
        self, vocabulary: Collection[str], private: Collection[str] = (), lead: str = ""
    ) -> None:
        self.lead = lead
        self.vocabulary = (
            frozenset(vocabulary) | _INTERFACE_NAMES | _OF_COLLECTIONS | _OF_GENERATORS
        )
        self._parts = NameParts(vocabulary)
        self.private = frozenset(private)
        self.tables: dict[str, dict[str, str]] = {
            "attributes": {},
            "variables": {},
            "definitions": {},
            "texts": {},
        }
        self._defined: dict[str, str] = {}
        self.attributes: frozenset[str] = frozenset()
        self.parameters: frozenset[str] = frozenset()
        self.shared: frozenset[str] = frozenset()
        self.used: set[str] = {
            "Repro",
            "repro",
            "inputs",
            "main",
            "custom_backend",
            "torch",
            "nn",
            "F",
        }
        self._counts: dict[str, int] = {}

    def is_public_dunder(self, name: str) -> bool:
        """Whether Python or torch defines a name such as `__call__`; another one is the program's
        own.
        """
        return is_dunder(name) and (name in load_dunders() or name in self.vocabulary)

    def take_unused(self, prefix: str) -> str:
        """An unused public name that is no private identifier either."""
        while True:
            self._counts[prefix] = self._counts.get(prefix, 0) + 1
            lead = self.lead if prefix in _DEFINITIONS else ""
            name = f"{lead}{prefix}{self._counts[prefix]}"
            if name not in self.private and name not in self.used and name not in _BUILTINS:
                self.used.add(name)
                return name

    def note_definition(self, private: str, public: str) -> None:
        """Notes the public name of a function or a class, of which several may share a private
        one; the table has the first.
        """
        self.tables["definitions"].setdefault(private, public)
        self._defined[public] = private

    def name_attribute(self, private: str, prefix: str = "attr") -> str:
        """The public name of an attribute, a method or a key: the same one whenever it is asked
        for.

        Args:
            private: its name in the program.
            prefix: what a name of our own begins with; it is numbered.
        """
        return self._choose_public("attributes", private, prefix)

    def name_variable(self, private: str, prefix: str = "value") -> str:
        """The public name of a parameter, a keyword or a local; the first role seen chooses the
        prefix.
        """
        return self._choose_public(self._find_table(private), private, prefix)

    def find_variable(self, private: str) -> str | None:
        """The public name of a parameter, a keyword or a local, None where it has none so far."""
        return self.tables[self._find_table(private)].get(private)

    def fix_variable(self, private: str, public: str) -> None:
        """Gives a parameter, a keyword or a local a public name that torch or a repro asks for."""
        self.shared -= {private}
        self.tables["variables"][private] = public
        self.used.add(public)

    def _find_table(self, variable: str) -> str:
        return "attributes" if variable in self.shared else "variables"

    def _choose_public(self, table: str, private: str, prefix: str) -> str:
        if self.is_public_dunder(private) or private == "_":
            return private
        known = self.tables[table]
        if private not in known:
            known[private] = self.take_unused(prefix)
        return known[private]

    def build_mapping(self) -> dict[str, str]:
        """Private word → public word.

        A private word may have several public ones, a class `step` and an attribute `step`: the
        definition comes before the attribute, this before the variable, this before the text.
        """
        found: dict[str, str] = {}
        for table in ("texts", "variables", "attributes", "definitions"):
            found.update(self.tables[table])
        return found

    def reverse(self) -> dict[str, str]:
        """Public word → private word, complete and unambiguous; `private/mapping.json` has it."""
        found = {
            public: private for table in self.tables.values() for private, public in table.items()
        }
        return found | self._defined

    def rewrite_text(self, value: str, einsum: bool = False) -> str:
        """The public form of a string constant.

        Args:
            value: the private text.
            einsum: whether it is given to `torch.einsum`; then it is an equation without `->` too.

        Returns:
            What torch or Python gives a meaning to as it is, parts of torch's names too, a digit
            alone (a switch of the environment is one), equations with their output and with letters
            in the order of the alphabet, attributes and parameters by their public names, anything
            else as `text1`, ….
        """
        known = self.attributes | self.parameters
        if value in _INTERFACE_STRINGS and value not in known:
            return value
        if (
            self.is_public_dunder(value)
            or len(value) <= 2
            and not any(character.isalnum() for character in value)
            or len(value) == 1
            and value.isdecimal()
            and value not in known
        ):
            return value
        if einsum and _IMPLICIT_EINSUM.fullmatch(value):
            return _normalize_equation(_write_output(value))
        if _EINSUM.fullmatch(value):
            return _normalize_equation(value)
        if value in self.parameters:
            return self.name_variable(value, "arg")
        parts = value.split(".")
        if (
            all(part in self.attributes or part.isdecimal() for part in parts)
            and not value.isdecimal()
        ):
            return ".".join(
                part if part.isdecimal() else self.name_attribute(part) for part in parts
            )
        if value in self._parts and value not in self.private:
            return value
        if value not in self.tables["texts"]:
            self.tables["texts"][value] = self.take_unused("text")
        return self.tables["texts"][value]


def _write_output(equation: str) -> str:
    """An equation with the output that it implies: the letters that it has once, sorted."""
    single = sorted(each for each in equation if each.isalpha() and equation.count(each) == 1)
    return f"{equation}->{'...' if '...' in equation else ''}{''.join(single)}"


def _normalize_equation(equation: str) -> str:
    letters: dict[str, str] = {}
    out = []
    for character in equation.replace(" ", ""):
        if character.isalpha():
            character = letters.setdefault(
                character, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(letters)]
            )
        out.append(character)
    return "".join(out)
