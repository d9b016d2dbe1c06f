"""Torch's guard texts without the user's names: argument positions instead, and nothing that cannot
be vouched for.

A text is rebuilt word by word; it ends at the first word that is neither torch's, nor Python's, nor
a name whose position among the arguments is known. Values that are texts or fractions are the
user's data and end it too.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, FrozenSet, Optional, Tuple

import torch

from ..call import failure, rungs


@dataclass(frozen=True)
class Labels:
    """What the names in a frame are called.

    `parameters` are the names whose place is known, with a label such as `argument N`; `star` is
    its `*args`, whose first is argument `base`, and `locals` are all its variables. `code` is the
    frame's where its parameters were read.
    """

    parameters: Dict[str, str] = field(default_factory=dict)
    locals: FrozenSet[str] = frozenset()
    star: str = ""
    base: int = 0
    code: Any = None


def label_parameters(call: rungs.RecordedCall) -> Labels:
    """The public labels of a call's parameters, as its own code names them."""
    function = call.function
    if isinstance(function, torch.nn.Module):
        function = function.forward
    code = getattr(function, "__code__", None)
    if code is None:
        return Labels()
    return _read_parameters(code, getattr(function, "__self__", None) is not None)


def label_frame(code: Any, call: rungs.RecordedCall) -> Labels:
    """The labels in a compiled frame: the call's own, torch's `(*args, **kwargs)` around it, or
    none that are known.

    Args:
        code: the code object of the frame.
    """
    own = label_parameters(call)
    if code is own.code:
        return own
    is_of_torch = code.co_filename.startswith(failure.find_torch_folder())
    if not (is_of_torch and code.co_flags & inspect.CO_VARARGS):
        return Labels(locals=_list_variables(code))
    found = _read_parameters(code, True)
    return replace(found, parameters=dict.fromkeys(found.parameters, "the module"))


def _read_parameters(code: Any, bound: bool) -> Labels:
    names = list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    parameters = {names.pop(0): "the module"} if bound and names else {}
    parameters.update((name, "argument {}".format(index)) for index, name in enumerate(names))
    star, base = "", 0
    if code.co_flags & inspect.CO_VARARGS:
        star = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        base = len(names)
    return Labels(parameters, _list_variables(code), star, base, code)


def _list_variables(code: Any) -> FrozenSet[str]:
    return frozenset((*code.co_varnames, *code.co_freevars, *code.co_cellvars))


#: Words of torch's and Python's own in guard texts.
_WORDS = frozenset(
    "tensor size mismatch at index expected actual stride strides rank dtype device requires_grad"
    " dispatch key set type of any and or not is None True False Eq Ne Mod Min Max isinstance"
    " hasattr len size storage_offset shape FloorDiv PythonMod math Float Double Half BFloat16 Int"
    " Long Short Byte Char Bool ComplexFloat ComplexDouble GLOBAL_STATE changed grad_mode"
    " autocast_state deterministic_algorithms default_dtype torch_function Duplicate tensors found"
    " cpu cuda int float bool str NoneType dict list tuple Tensor Parameter".split()
)
_ACCESS = r"(?:\.[A-Za-z_]\w*(?:\(\))?|\[[^\[\]]*\])*"
_TOKEN = re.compile(
    r"(?P<local>L\[(?P<q>['\"])(?P<name>\w+)(?P=q)\])(?P<access>" + _ACCESS + ")"
    r"|(?P<global>G\[['\"][^'\"]*['\"]\])"
    + _ACCESS
    + r"|'(?P<quoted>[LG]\['[^']*'\]"
    + _ACCESS
    + r"|[^']*)'"
    r"|(?P<word>[A-Za-z_]\w*)(?P<tail>"
    + _ACCESS
    + r")|(?P<other>\s+|\d+(?:\.\d+)?(?:e[+-]?\d+)?|.)",
    re.DOTALL,
)


def publish(text: str, names: Labels) -> Tuple[str, bool]:
    """A guard's text with argument positions for names; cut (second value True) where a word cannot
    be vouched for.

    Args:
        text: as Dynamo writes it, with names of the user's program.
        names: the labels of the frame that it guards.
    """
    made = ""
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None  # `other` takes any character
        piece = _publish_piece(match, names)
        if piece is None:
            return made.rstrip(" '\"([,-"), True
        made += piece
        position = match.end()
    return made, False


def _publish_piece(match: re.Match[str], names: Labels) -> Optional[str]:
    if match.group("local"):
        return _name_local(match.group("name"), match.group("access"), names)
    if match.group("global"):
        return "a global value"
    quoted = match.group("quoted")
    if quoted is not None:
        return _quote(quoted, names)
    word = match.group("word")
    if word is None:
        other = str(match.group("other"))
        # a float is the user's data, a long number an address
        return None if re.fullmatch(r"\d+(\.|e).*|\d{10,}", other) else other
    whole = word + match.group("tail")
    if re.fullmatch(r"torch\.(u?int\d+|b?float\d+\w*|bool|complex\d+|Tensor)", whole):
        return whole
    if word in names.parameters or word == names.star:
        return _name_local(word, match.group("tail"), names)
    if word in _WORDS or word.startswith("___check"):
        return word + _shorten_access(match.group("tail"))
    if word in names.locals or word.startswith("___"):
        return _name_local(word, match.group("tail"), names)
    return None


def _quote(text: str, names: Labels) -> Optional[str]:
    """A quoted source expression; any other quoted text is a value of the user's."""
    first = re.match(r"(L|G)\[|(\w+)", text)
    known = {*names.parameters, *names.locals, names.star}
    if first is None or first.group(2) is not None and first.group(2) not in known:
        return None
    inner, cut = publish(text, names)
    return None if cut else inner


def _name_local(name: str, access: str, names: Labels) -> str:
    index = re.match(r"\[(\d+)\]", access)
    if name == names.star and index:
        return "argument {}".format(names.base + int(index.group(1))) + _shorten_access(
            access[index.end() :]
        )
    return names.parameters.get(name, "a local value") + _shorten_access(access)


def _shorten_access(text: str) -> str:
    """How a value is reached from a labeled one: sizes and numeric indices stay, names become
    `.…`.
    """
    known = ("size()", "stride()", "storage_offset()", "shape", "dtype", "device", "requires_grad")
    made = ""
    for piece in re.findall(r"\.[A-Za-z_]\w*(?:\(\))?|\[[^\[\]]*\]", text):
        plain = piece[1:] in known if piece[0] == "." else piece[1:-1].isdigit()
        made += piece if plain else "" if made.endswith(".…") else ".…"
    return made
