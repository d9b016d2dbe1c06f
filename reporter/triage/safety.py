"""What a reader would want to know before running a stranger's program: found in its syntax tree, told with the line.

A flag is a warning, not a wall. Whatever the list misses runs in the sandbox like everything else, so being complete is not
what it is for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_MODULES = {
    "network": "socket ssl http urllib urllib3 requests aiohttp httpx ftplib smtplib telnetlib websockets paramiko huggingface_hub",
    "shell": "subprocess pty pexpect sh shlex",
    "native": "ctypes cffi mmap",
    "pickle": "pickle cloudpickle dill joblib marshal shelve",
    "install": "pip ensurepip",
    "encoded": "base64 codecs binascii zlib bz2 lzma",
    "process": "signal multiprocessing resource",
}
_OF_MODULE = {name: kind for kind, names in _MODULES.items() for name in names.split()}
_CALLS = {
    "eval": "eval",
    "exec": "eval",
    "compile": "eval",
    "__import__": "eval",
    "os.system": "shell",
    "os.popen": "shell",
    "os.kill": "process",
    "os.fork": "process",
    "os.killpg": "process",
    "os.remove": "file",
    "os.unlink": "file",
    "os.rename": "file",
    "os.symlink": "file",
    "os.link": "file",
    "os.rmdir": "file",
    "os.chmod": "file",
    "shutil.rmtree": "file",
    "shutil.copy": "file",
    "shutil.move": "file",
    "torch.load": "pickle",
    "torch.hub.load": "network",
    "torch.hub.load_state_dict_from_url": "network",
    "torch.hub.download_url_to_file": "network",
    "importlib.import_module": "eval",
    "torch.ops.load_library": "native",
    "torch.utils.cpp_extension.load": "native",
    "torch.utils.cpp_extension.load_inline": "native",
}
_BY_LAST = {
    "load_state_dict_from_url": "network",
    "from_pretrained": "network",
    "hf_hub_download": "network",
}
_PREFIXES = {"os.exec": "shell", "os.spawn": "shell", "os.posix_spawn": "shell"}
#: Variables that torch, CUDA and OpenMP document; anything else is unusual.
_USUAL = re.compile(
    r"^(?:TORCH|PYTORCH|INDUCTOR|AOT|TRITON|CUDA|CUBLAS|NCCL|HIP|ROCM|OMP|MKL|KMP|ATEN|PYTHONHASHSEED$|MASTER_|RANK$|WORLD_SIZE$|LOCAL_RANK$|TOKENIZERS_)"
)
_CREDENTIAL = re.compile(r"TOKEN|SECRET|PASSWORD|CREDENTIAL|API_?KEY|^AWS_", re.IGNORECASE)
_PRIVATE = re.compile(r"^~|^/(?!tmp(?:/|$)|dev/null$)|\.ssh|\.aws|\.netrc|/\.config")
_BLOB = re.compile(r"^[A-Za-z0-9+/=\s]{200,}$")


@dataclass(frozen=True)
class Flag:
    """One thing to know: `kind` of the list, the line in the program, and what stands there."""

    kind: str
    line: int
    what: str


def flags(text: str) -> tuple[Flag, ...]:
    """The flags of a program that parses, by line. Raises SyntaxError for anything else."""
    tree = ast.parse(text)
    names = _imported(tree)
    found = {flag: None for node in ast.walk(tree) for flag in _of(node, names)}
    found.update(dict.fromkeys(_environment(tree, names)))
    return tuple(sorted(found, key=lambda flag: (flag.line, flag.kind, flag.what)))


def _of(node: ast.AST, names: dict[str, str]) -> Iterator[Flag]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for module in _modules_of(node):
            kind = _OF_MODULE.get(module.partition(".")[0])
            if kind:
                yield Flag(kind, node.lineno, f"import {module}")
    elif isinstance(node, ast.Call):
        yield from _of_call(node, names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
        yield from _of_text(node)
    elif isinstance(node, ast.Attribute) and node.attr in (
        "__globals__",
        "__subclasses__",
        "__builtins__",
        "__code__",
    ):
        yield Flag("eval", node.lineno, node.attr)


def _of_call(node: ast.Call, names: dict[str, str]) -> Iterator[Flag]:
    called = _dotted(node.func, names)
    last = called.rpartition(".")[2]
    kind = _CALLS.get(called) or _BY_LAST.get(last)
    kind = kind or next((k for prefix, k in _PREFIXES.items() if called.startswith(prefix)), None)
    root = _OF_MODULE.get(called.partition(".")[0])
    if kind or ("." in called and root and root != "process"):
        yield Flag(kind or str(root), node.lineno, called)
    first = _text(node.args[0]) if node.args else None
    if called in ("open", "io.open") or last in (
        "write_text",
        "write_bytes",
        "read_text",
        "read_bytes",
    ):
        if (
            called not in ("open", "io.open")
            or first is None
            or _PRIVATE.search(first)
            or ".." in first
        ):
            yield Flag("file", node.lineno, f"{last}({first!r})" if first is not None else last)
    if called in (
        "os.environ.get",
        "os.getenv",
        "os.environ.pop",
        "os.environ.setdefault",
        "os.putenv",
    ):
        yield from _of_variable(first, node.lineno)


def _of_text(node: ast.Constant) -> Iterator[Flag]:
    value = node.value
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    if (
        _BLOB.match(text)
        or sum(not char.isprintable() and char not in "\n\t\r" for char in text) > 8
    ):
        yield Flag("encoded", node.lineno, f"a literal of {len(text)} encoded characters")
    elif "\n" not in text and _PRIVATE.search(text) and len(text) > 1:
        yield Flag("file", node.lineno, repr(text[:80]))
    elif re.match(r"(?:https?|ftp)://", text):
        yield Flag("network", node.lineno, repr(text[:80]))
    elif _CREDENTIAL.search(text) and re.fullmatch(r"[A-Z][A-Z0-9_]+", text):
        yield Flag("environment", node.lineno, text)
    elif re.search(r"\b(?:pip3?|conda|apt(?:-get)?) install\b", text):
        yield Flag("install", node.lineno, repr(text[:80]))


def _of_variable(name: str | None, line: int) -> Iterator[Flag]:
    if name is None or not _USUAL.match(name):
        yield Flag("environment", line, name or "a computed name")


def _environment(tree: ast.AST, names: dict[str, str]) -> Iterator[Flag]:
    """Assignments to `os.environ[...]` of variables that no program of this sort sets."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and _dotted(node.value, names) == "os.environ":
            yield from _of_variable(_text(node.slice), node.lineno)


def _imported(tree: ast.Module) -> dict[str, str]:
    """Local names and what they stand for: `sp` for `subprocess`, `load` for `torch.load`."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update({a.asname: a.name for a in node.names if a.asname})
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    return names


def _modules_of(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if node.module and not node.level else []


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(names.get(node.id, node.id))
    elif isinstance(node, ast.Call):
        parts.append(_dotted(node.func, names) + "()")
    return ".".join(reversed(parts))


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
