"""What is public knowledge: a word that everybody's program may contain cannot give this one away.

Three circles. `load_python` is the language itself. `load_words` is common English and
machine-learning jargon, counted once over the sources of Python, NumPy, SymPy and torch (a word is
in when at least twelve files use it). `PUBLIC_STRINGS` are the values that torch's own interface
takes as text (`"reflect"`, `"max-autotune"`). torch's names come from the user's interpreter
(`collectors.machine.vocabulary`), because they differ per release.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import keyword
import re
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Sequence
from importlib import resources

_SEPARATOR = re.compile(r"\.|::")
_PART = re.compile(r"[a-z][a-z0-9_]{2,}[a-z0-9]")
_SUBWORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")
_EINSUM = re.compile(r"[a-z]*(?:,[a-z]*)*->[a-z]*")

# Names so usual for a neural network that finding one says nothing about whose it is.
GENERIC_NAMES = frozenset("""
    main Model Block Repro Net model layer layers block blocks inputs body head norm proj attn bias
    scale embed encoder decoder fn forward loss backend compiled check compare test step evaluate
    compute eager expected actual weight backbone features output outputs
    """.split())

PUBLIC_STRINGS = frozenset("""
    eager aot_eager aot_eager_decomp_partition aot_eager_decomp_partition_crossref inductor
    cudagraphs onnxrt tvm default reduce-overhead max-autotune max-autotune-no-cudagraphs cpu cuda
    cuda:0 mps xpu hip meta float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 complex64
    complex128 constant reflect replicate circular zeros border reflection nearest nearest-exact
    linear bilinear bicubic trilinear area none mean sum batchmean same valid tanh floor trunc ortho
    forward backward fro nuc highest high medium strict reduced complete euclidean fan_in fan_out
    relu leaky_relu gelu silu sigmoid mean_squared_error contiguous_format channels_last
    channels_last_3d preserve_format amax amin prod replace add multiply raise warn ignore __main__
    utf-8 0123456789 1234567890
    """.split())

# Modules of the standard library whose interface is everybody's; a list of its own, since the leak
# check shares nothing with rewriters.
_INTERFACES = """
    abc cmath collections contextlib copy dataclasses enum functools inspect itertools logging math
    numbers operator random re signal statistics string threading time types typing warnings weakref
    """.split()

# Packages whose names a report may carry in its list of versions.
PUBLIC_PACKAGES = frozenset(
    "torch numpy triton torchvision torchaudio functorch pytest black unittest".split()
)


class NameParts:
    """Which texts are runs of whole words of torch's names: `scaled_dot_product` is one of
    `scaled_dot_product_attention`. Code that looks at graphs asks for operators by such parts.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = "\n".join(names)

    def __contains__(self, text: str) -> bool:
        """Whether each part of a dotted text is a run of words; below four letters none is told
        from a word of its own.
        """
        parts = _SEPARATOR.split(text)
        return all(_PART.fullmatch(part) and self._is_run(part) for part in parts)

    def _is_run(self, part: str) -> bool:
        return re.search(rf"(?:^|_){part}(?:_|$)", self._names, re.MULTILINE) is not None


class WordRuns:
    """Which runs of whole words identifiers have, each given by its words: `BatchNorm2d` and
    `native_batch_norm` both have batch, norm.
    """

    def __init__(self, identifiers: Iterable[Sequence[str]]) -> None:
        self._text = "\n".join(map(_frame_words, identifiers))

    def __contains__(self, words: Sequence[str]) -> bool:
        return _frame_words(words) in self._text


def _frame_words(words: Sequence[str]) -> str:
    return f"_{'_'.join(words)}_"


# What Python's documents and torch's give a meaning to and no built-in type has. A name of this
# form that nobody defines is the program's own.
_DUNDERS = """
    abs add aenter aexit aiter all and anext annotations array array_interface array_priority
    array_struct array_ufunc array_function array_wrap author await bases bool bytes builtins
    cached call ceil class_getitem classcell code complex constants contains copy
    coerce_same_metadata_as_tangent coerce_tensor_metadata cuda_array_interface debug deepcopy
    defaults del delattr delete delitem dict divmod dlpack dlpack_device doc enter eq exit file
    float floor floordiv format fspath func future get getattr getattribute getitem getnewargs
    getnewargs_ex getstate globals gt iadd iand idiv ifloordiv ilshift imatmul imod import imul
    index init init_subclass instancecheck int invert ior ipow irshift isabstractmethod isub iter
    itruediv ixor kwdefaults len length_hint loader lshift main match_args matmul metaclass
    metadata_guard missing mod module mro_entries name ne neg new next objclass or orig_bases
    orig_class package parameters path pos post_init pow prepare qualname radd rand rdivmod reduce
    reduce_ex replace repr reversed rfloordiv rlshift rmatmul rmod rmul ror round rpow rrshift
    rshift rsub rtruediv rxor self set set_name setattr setitem setstate signature slots spec
    static_attributes str sub subclasscheck subclasshook tensor_flatten tensor_unflatten
     text_signature
    torch_dispatch torch_function traceback trunc truediv type_params version weakref wrapped xor
    """.split()


@functools.lru_cache(maxsize=1)
def load_dunders() -> frozenset[str]:
    """Names in double underscores that Python defines: on its built-in types, or in its
    documents.
    """
    found = {f"__{name}__" for name in _DUNDERS}
    for value in (*vars(builtins).values(), *vars(types).values()):
        found.update(name for name in dir(value) if is_dunder(name))
    return frozenset(found)


def is_dunder(name: str) -> bool:
    """Whether a name has the form of `__call__`, whoever defines it."""
    return len(name) > 4 and name.startswith("__") and name.endswith("__")


def load_python() -> frozenset[str]:
    """Builtins, keywords, the names of the standard library's modules, and what the usual ones of
    them offer.

    They are those of this interpreter, not of the user's.
    """
    names = {
        *load_dunders(),
        *dir(builtins),
        *keyword.kwlist,
        *keyword.softkwlist,
        *sys.stdlib_module_names,
    }
    for kind in (str, list, dict, OrderedDict, deque, tuple, set, int, float, Exception):
        names.update(dir(kind))
    for module in map(importlib.import_module, _INTERFACES):
        names.update(getattr(module, "__all__", None) or _find_offered(module))
    return frozenset(names | {"self", "cls", "args", "kwargs", "super"})


def _find_offered(module: types.ModuleType) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_")}


@functools.lru_cache(maxsize=1)
def load_words() -> frozenset[str]:
    """Common words, lower case."""
    text = (
        resources.files("anonymizer")
        .joinpath("data")
        .joinpath("words.txt")
        .read_text(encoding="utf-8")
    )
    return frozenset(text.split())


def split_identifier(name: str) -> list[str]:
    """The words of an identifier, lower case: `HTTPServer_v2x` gives http, server, v, 2, x."""
    return [part.lower() for part in _SUBWORD.findall(name)]


def is_common(word: str, words: frozenset[str]) -> bool:
    """Whether a lower-case word, or the word without an English ending, is in `words`."""
    if word in words:
        return True
    endings = (
        ("s", ""),
        ("es", ""),
        ("ies", "y"),
        ("ed", ""),
        ("ed", "e"),
        ("ing", ""),
        ("ing", "e"),
    )
    more = (("er", ""), ("er", "e"), ("ly", ""), ("d", ""))
    for ending, instead in (*endings, *more):
        stem = word[: len(word) - len(ending)] + instead
        if word.endswith(ending) and len(stem) >= 4 and stem in words:
            return True
    return False


def is_canonical_einsum(text: str) -> bool:
    """Whether a text is an equation whose letters come in the order a, b, c, …

    Such a one was renamed, so it holds nothing of its author.
    """
    if not _EINSUM.fullmatch(text):
        return False
    letters = list(dict.fromkeys(character for character in text if character.isalpha()))
    return letters == [chr(ord("a") + index) for index in range(len(letters))]


#: The modules that write what stands around a program.
_FIXED = (
    "graph/compilation.py",
    "graph/imports.py",
    "graph/repro.py",
    "harness/main.py",
    "harness/run.py",
    "harness/text.py",
    "plain/callee.py",
    "plain/calling_script.py",
    "plain/comparison/call.py",
    "plain/comparison/eager.py",
    "plain/comparison/gradients.py",
    "plain/comparison/metadata.py",
    "plain/comparison/values.py",
    "plain/function.py",
    "plain/input_placement.py",
    "plain/inputs.py",
    "plain/renaming.py",
    "plain/script/forms.py",
    "plain/script/parts.py",
    "plain/statements.py",
    "plain/text.py",
    "plain/values.py",
)


@functools.lru_cache(maxsize=1)
def collect_fixed_text() -> str:
    """The fixed text around a program, in the harness and in the plain forms: the string constants
    of the modules that write it, without the docstrings.
    """
    modules = map(resources.files("anonymizer").joinpath, _FIXED)
    return "\n".join(map(collect_constants, (path.read_text(encoding="utf-8") for path in modules)))


def collect_constants(source: str) -> str:
    """The string constants of a module, one a line, without the docstrings."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return "\n".join(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    )
