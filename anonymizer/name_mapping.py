"""From the public names of a report back to the private ones, for an answer, a patch or a sentence.

`Block3` is a class, `blocks1.0.linear2` a path, `self.linear2` an attribute of the class that the
text is in; a diff says in which class it is by its context and its hunk headers. What could be
several private names is left as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_CLASS = re.compile(r"^[ +\-@\d,>|]*(?:@@.*@@\s*)?class\s+(\w+)")
_WORD = re.compile(r"[A-Za-z_]\w*(?:\[\d+\]|\.\d+(?![\w.]*\()|\.[A-Za-z_]\w*)*")
#: What may stand before a path without being part of it.
_OWNERS = ("self", "model", "module", "mod", "m", "L['self']", "Repro")


@dataclass(frozen=True)
class NameMapping:
    """Public names and what they stand for.

    `names`: single words; `classes`: public class -> private classes; `modules` and `tensors`:
    public path -> private path; `attributes`: public class -> public attribute -> private
    attributes.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    classes: Mapping[str, list[str]] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)
    tensors: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, Mapping[str, list[str]]] = field(default_factory=dict)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> NameMapping:
        """Reads `private/mapping.json`.

        Raises:
            KeyError: it is anything else.
            TypeError: it is anything else.
        """
        if not all(isinstance(data[name], Mapping) for name in data):
            raise TypeError("a part of it is no mapping")
        return cls(**{name: data[name] for name in data})

    def restore(self, text: str) -> str:
        """The text with every public name that stands for one private name replaced by it.

        What could be several private names stays as it is.
        """
        reader = _LineRestorer(self)
        return "".join(reader.restore_line(line) for line in text.splitlines(keepends=True))


class _LineRestorer:
    """Reads a text line by line, so that it knows the class that a line is in."""

    def __init__(self, mapping: NameMapping) -> None:
        self.mapping = mapping
        self.within = ""

    def restore_line(self, line: str) -> str:
        found = _CLASS.match(line)
        if found:
            self.within = found.group(1)
        return _WORD.sub(lambda match: self._read_word(match.group()), line)

    def _read_word(self, word: str) -> str:
        head, *rest = re.split(r"(?=[.\[])", word, maxsplit=1)
        tail = rest[0] if rest else ""
        if head in self.mapping.classes:
            return self._name_class(head) + self._name_attributes(head, tail)
        if head == "self" and self.within in self.mapping.attributes:
            return head + self._name_attributes(self.within, tail)
        for prefix in ("", *(owner + "." for owner in _OWNERS)):
            if word.startswith(prefix):
                path = self._find_path(word[len(prefix) :])
                if path is not None:
                    return prefix + path
        if head in self.mapping.names:
            return self.mapping.names[head] + self._name_members(tail)
        return head + self._name_members(tail)

    def _name_class(self, name: str) -> str:
        private = self.mapping.classes[name]
        return private[0] if len(private) == 1 else name

    def _name_members(self, tail: str) -> str:
        """Attributes of what is not known: single words by the flat table."""
        return re.sub(
            r"\.([A-Za-z_]\w*)",
            lambda m: "." + self.mapping.names.get(m.group(1), m.group(1)),
            tail,
        )

    def _name_attributes(self, cls: str, tail: str) -> str:
        """`.linear2.weight` as attributes of a class."""
        match = re.match(r"\.([A-Za-z_]\w*)", tail)
        if match is None:
            return tail
        private = self.mapping.attributes.get(cls, {}).get(match.group(1), [])
        name = private[0] if len(private) == 1 else match.group(1)
        return f".{name}{tail[match.end():]}"

    def _find_path(self, word: str) -> str | None:
        """The longest public path at the start of a dotted word, as the private path."""
        dotted = re.sub(r"\[(\d+)\]", r".\1", word)
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            path = ".".join(parts[:length])
            known = self.mapping.modules.get(path) or self.mapping.tensors.get(path)
            if known and (length > 1 or path in self.mapping.modules):
                rest = parts[length:]
                return ".".join([known, *rest])
        return None
