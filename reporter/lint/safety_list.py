"""One list of what a program can do beside computing: all of it is refused in a repro of ours, the
worse part is told of a stranger's.

The receiving side runs a repro unread, so it closes what does any of this. What somebody else wrote
runs in the sandbox whatever it does; there the reader is told what they would want to know, and
ordinary things (threads, a temporary file) are left out. Found in the syntax tree, under whatever
name a thing was imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

UnsafeKind = Literal[
    "network",
    "shell",
    "pickle",
    "encoded",
    "eval",
    "native",
    "install",
    "file",
    "process",
    "environment",
    "input",
]


@dataclass(frozen=True)
class UnsafeStatement:
    """One violation: `kind` of the list, the line, and what stands there.

    `told`: a stranger's reader is told of it too.
    """

    kind: UnsafeKind
    line: int
    what: str
    told: bool = True


@dataclass(frozen=True)
class _Row:
    """What belongs to one kind.

    `words` are the list's own name for it, the rest is looked for in the program.

    `modules` by their first name; `calls` by their full name; `ends` by the last part of it;
    `parts` are modules deep in others, or with a star what such a name begins with; the ones in
    `ordinary` (modules, calls or parts) are
    in many an honest program.
    """

    words: str
    modules: str = ""
    calls: str = ""
    ends: str = ""
    parts: str = ""
    ordinary: str = ""


TABLE: dict[UnsafeKind, _Row] = {
    "network": _Row(
        "network",
        modules=(
            "socket ssl http urllib urllib3 requests httpx aiohttp asyncio ftplib smtplib telnetlib"
            " xmlrpc websockets paramiko huggingface_hub"
        ),
        ends="from_pretrained hf_hub_download load_state_dict_from_url",
        parts="torch.hub",
        ordinary="asyncio ssl http xmlrpc",
    ),
    "shell": _Row(
        "shell or subprocess",
        modules="subprocess pty commands pexpect sh shlex",
        calls="os.system os.popen",
        parts="os.exec* os.spawn* os.posix_spawn*",
    ),
    "pickle": _Row(
        "pickle",
        modules="pickle dill cloudpickle marshal shelve joblib",
        calls="torch.load torch.jit.load torch.export.load",
        ordinary="torch.jit.load torch.export.load",
    ),
    "encoded": _Row("encoded text", modules="base64 binascii codecs zlib bz2 lzma"),
    "eval": _Row(
        "eval or exec",
        modules="importlib runpy imp",
        calls="eval exec compile __import__ importlib.import_module",
        ordinary="importlib runpy imp",
    ),
    "native": _Row(
        "code from elsewhere",
        modules="ctypes cffi mmap",
        calls="torch.ops.load_library torch.classes.load_library",
        parts="torch.utils.cpp_extension",
        ordinary="torch.classes.load_library",
    ),
    "install": _Row("a package install", modules="pip ensurepip"),
    "file": _Row(
        "files",
        modules="shutil glob fileinput zipfile tarfile",
        calls=(
            "os.remove os.unlink os.rename os.symlink os.link os.rmdir os.chmod shutil.rmtree"
            " shutil.copy shutil.move torch.save torch.from_file"
        ),
        ends="unlink rmdir symlink_to hardlink_to",
        ordinary="shutil glob fileinput zipfile tarfile torch.save torch.from_file",
    ),
    "process": _Row(
        "several processes",
        modules="multiprocessing concurrent threading signal resource",
        calls="os.fork os.kill os.killpg",
        parts="torch.distributed torch.multiprocessing",
        ordinary="concurrent threading torch.distributed torch.multiprocessing",
    ),
    "environment": _Row("unusual environment variables"),
    "input": _Row("it waits for input", calls="input", ordinary="input"),
}


def _index_by(field: str) -> dict[str, UnsafeKind]:
    return {name: kind for kind, row in TABLE.items() for name in getattr(row, field).split()}


_MODULES, _CALLS, _ENDS, _PARTS = map(_index_by, ("modules", "calls", "ends", "parts"))
_ORDINARY = {(kind, name) for kind, row in TABLE.items() for name in row.ordinary.split()}
#: Words that honest programs have as names of their parameters; eval and exec are told whatever
#: they stand for.
_SHADOWED = frozenset({"compile", "input", "open"})
_OPENS = ("open", "io.open")
_ENDS_OF_FILES = ("write_text", "write_bytes", "read_text", "read_bytes")
_READS_VARIABLE = frozenset(
    "os.environ.get os.getenv os.environ.pop os.environ.setdefault os.putenv".split()
)
#: Variables that torch, CUDA and OpenMP document; anything else is unusual.
_USUAL = re.compile(
    r"^(?:TORCH|PYTORCH|INDUCTOR|AOT|TRITON|CUDA|CUBLAS|NCCL|HIP|ROCM|OMP|MKL|KMP|ATEN"
    r"|PYTHONHASHSEED$|MASTER_|RANK$|WORLD_SIZE$|LOCAL_RANK$|TOKENIZERS_)"
)
_CREDENTIAL = re.compile(r"TOKEN|SECRET|PASSWORD|CREDENTIAL|API_?KEY|^AWS_", re.IGNORECASE)
_PRIVATE = re.compile(r"^~|^/(?!tmp(?:/|$)|dev/null$)|\.ssh|\.aws|\.netrc|/\.config")
_ADDRESS = re.compile(r"(?:https?|ftp)://")
_INSTALLS = re.compile(r"\b(?:pip3?|conda|apt(?:-get)?)\s+install\b")
_BLOB = re.compile(r"^[A-Za-z0-9+/=\s]{200,}$")
_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]{80,}")
_ESCAPES = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}){3}")
_REACHES = frozenset(("__globals__", "__subclasses__", "__builtins__", "__code__"))
_UNPRINTABLE = 8


def find_unsafe_statements(tree: ast.Module, text: str) -> tuple[UnsafeStatement, ...]:
    """All that the list has of a program, by line, each once.

    `text` is what `tree` was parsed from.
    """
    names = _import_names(tree)
    text = text if _ESCAPES.search(text) else ""  # finding a string's own text is slow
    found: dict[tuple[UnsafeKind, int, str], UnsafeStatement] = {}
    for node in ast.walk(tree):
        for statement in _find_in(node, names, text):
            place = (statement.kind, statement.line, statement.what)
            if place not in found or statement.told:
                found[place] = statement
    return tuple(sorted(found.values(), key=lambda item: (item.line, item.kind, item.what)))


def _find_in(node: ast.AST, names: dict[str, str], text: str) -> Iterator[UnsafeStatement]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for module in _list_modules(node):
            kind = _MODULES.get(module.partition(".")[0])
            if kind:
                yield _build_statement(
                    kind, node.lineno, f"import {module}", module.partition(".")[0]
                )
    elif isinstance(node, ast.Call):
        yield from _find_in_call(node, names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
        yield from _find_in_text(node, text)
    elif isinstance(node, ast.Attribute):
        if node.attr in _REACHES:
            yield UnsafeStatement("eval", node.lineno, node.attr)
        part = _read_dotted_name(node, names)
        if part in _PARTS:
            yield _build_statement(_PARTS[part], node.lineno, part, part, told=False)
    elif isinstance(node, ast.Subscript) and _read_dotted_name(node.value, names) == "os.environ":
        yield from _find_in_variable(_read_string(node.slice), node.lineno)


def _find_in_call(node: ast.Call, names: dict[str, str]) -> Iterator[UnsafeStatement]:
    called = _resolve_star(_read_dotted_name(node.func, names), names)
    root, _, last = called.partition(".")[0], *called.rpartition(".")[1:]
    part = _find_part(called)
    if called in _CALLS:
        yield _build_statement(_CALLS[called], node.lineno, called, called)
    elif last in _ENDS:
        yield UnsafeStatement(_ENDS[last], node.lineno, called)
    elif part is not None:
        yield _build_statement(_PARTS[part], node.lineno, called, part)
    elif "." in called and root in _MODULES and _MODULES[root] != "process":
        yield _build_statement(_MODULES[root], node.lineno, called, root)
    first = _read_string(node.args[0]) if node.args else None
    if called in _OPENS or last in _ENDS_OF_FILES:
        private = first is None or ".." in first or _PRIVATE.search(first) is not None
        what = f"{last}({first!r})" if first is not None else last
        yield UnsafeStatement("file", node.lineno, what, private or called not in _OPENS)
    if called in _READS_VARIABLE:
        yield from _find_in_variable(first, node.lineno)
    if any(word.arg == "allow_pickle" and not _is_false(word.value) for word in node.keywords):
        yield UnsafeStatement("pickle", node.lineno, f"{called}(allow_pickle)")
    if last == "DataLoader" and any(word.arg == "num_workers" for word in node.keywords):
        yield UnsafeStatement("process", node.lineno, "num_workers", told=False)


def _find_part(called: str) -> str | None:
    """What of the parts a full name begins with."""
    for part in _PARTS:
        begins = part[:-1] if part.endswith("*") else f"{part}."
        if called == part or called.startswith(begins):
            return part
    return None


def _resolve_star(called: str, names: dict[str, str]) -> str:
    """The full name of what may come from a `from module import *`."""
    for module in names.get("*", "").split():
        full = f"{module}.{called}"
        if full in _CALLS or full in _READS_VARIABLE or _find_part(full):
            return full
    return called


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _find_in_text(node: ast.Constant, text: str) -> Iterator[UnsafeStatement]:
    value, line = node.value, node.lineno
    said = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    strange = sum(not char.isprintable() and char not in "\n\t\r" for char in said)
    if _BLOB.match(said) or strange > _UNPRINTABLE:
        yield UnsafeStatement("encoded", line, f"a literal of {len(said)} encoded characters")
    elif _ENCODED.search(said):
        yield UnsafeStatement(
            "encoded", line, f"a literal of {len(said)} encoded characters", told=False
        )
    elif text and _ESCAPES.search(ast.get_source_segment(text, node) or ""):
        yield UnsafeStatement("encoded", line, "escapes in a string", told=False)
    if "\n" not in said and _PRIVATE.search(said) and len(said) > 1:
        yield UnsafeStatement("file", line, repr(said[:80]))
    elif _ADDRESS.match(said):
        yield UnsafeStatement("network", line, repr(said[:80]))
    elif _CREDENTIAL.search(said) and re.fullmatch(r"[A-Z][A-Z0-9_]+", said):
        yield UnsafeStatement("environment", line, said)
    elif _INSTALLS.search(said):
        yield UnsafeStatement("install", line, repr(said[:80]))


def _find_in_variable(name: str | None, line: int) -> Iterator[UnsafeStatement]:
    if name is None or not _USUAL.match(name):
        yield UnsafeStatement("environment", line, name or "a computed name")


def _build_statement(
    kind: UnsafeKind, line: int, what: str, name: str, told: bool = True
) -> UnsafeStatement:
    return UnsafeStatement(kind, line, what, told and (kind, name) not in _ORDINARY)


def _import_names(tree: ast.Module) -> dict[str, str]:
    """Local names and what they stand for: `sp` for `subprocess`, `load` for `torch.load`; a
    parameter `compile` is no builtin. `*` stands for the modules of which all names are imported.
    """
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg in _SHADOWED:
            names[node.arg] = f"<parameter>.{node.arg}"
        if isinstance(node, ast.Import):
            names.update({a.asname: a.name for a in node.names if a.asname})
        elif isinstance(node, ast.ImportFrom) and node.module:
            if node.names[0].name == "*":
                names["*"] = f"{names.get('*', '')} {node.module}"
                continue
            names.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    return names


def _list_modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if node.module and not node.level else []


def _read_dotted_name(node: ast.expr, names: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(names.get(node.id, node.id))
    elif isinstance(node, ast.Call):
        parts.append(_read_dotted_name(node.func, names) + "()")
    return ".".join(reversed(parts)).removeprefix("builtins.")


def _read_string(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
