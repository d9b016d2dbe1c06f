"""The receiving side runs a repro unread, so it refuses to run what looks unsafe: the same list, on the syntax tree."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from reporter.lint.rule import Hit, Rule
from reporter.lint.subject import Subject

_MODULES = {
    "network": "socket ssl http urllib ftplib smtplib telnetlib xmlrpc requests httpx aiohttp asyncio",
    "shell or subprocess": "subprocess pty commands pexpect",
    "pickle": "pickle dill cloudpickle marshal shelve joblib",
    "encoded text": "base64 binascii codecs zlib",
    "code from elsewhere": "ctypes cffi importlib runpy imp pip ensurepip",
    "files": "shutil glob fileinput zipfile tarfile",
    "several processes": "multiprocessing concurrent threading",
}
_REFUSED = {module: what for what, names in _MODULES.items() for module in names.split()}
_CALLS = {
    "eval": "eval or exec",
    "exec": "eval or exec",
    "__import__": "code from elsewhere",
    "open": "files",
    "input": "it waits for input",
    "os.system": "shell or subprocess",
    "os.popen": "shell or subprocess",
    "os.fork": "several processes",
    "os.remove": "files",
    "os.unlink": "files",
    "torch.load": "torch.load",
    "torch.save": "files",
    "torch.jit.load": "torch.load",
    "torch.export.load": "torch.load",
    "torch.from_file": "files",
    "torch.ops.load_library": "code from elsewhere",
    "torch.classes.load_library": "code from elsewhere",
}
_PARTS = {
    "torch.hub": "network",
    "torch.utils.cpp_extension": "code from elsewhere",
    "torch.distributed": "several processes",
    "torch.multiprocessing": "several processes",
}
_ALLOWED_VARIABLES = re.compile(
    r"TORCH\w*|PYTORCH\w*|TRITON_\w+|OMP_NUM_THREADS|CUDA_VISIBLE_DEVICES"
)
_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]{80,}")
_ESCAPES = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}){3}")
_INSTALLS = re.compile(r"\b(?:pip3?|conda|apt(?:-get)?)\s+install\b")


def _safety(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes():
        for what in _unsafe(node, subject.repro or ""):
            yield subject.name, getattr(node, "lineno", None), f"the safety list has {what}"


def _unsafe(node: ast.AST, text: str) -> Iterator[str]:
    for module in _imported(node):
        if module.split(".")[0] in _REFUSED:
            yield f"{_REFUSED[module.split('.')[0]]} ({module})"
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        if name in _CALLS:
            yield f"{_CALLS[name]} ({name})"
        if name.endswith("DataLoader") and any(k.arg == "num_workers" for k in node.keywords):
            yield "several processes (num_workers)"
    if isinstance(node, ast.Attribute):
        name = ast.unparse(node)
        if name in _PARTS or name.startswith(("os.exec", "os.spawn")):
            yield f"{_PARTS.get(name, 'shell or subprocess')} ({name})"
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
        key = ast.unparse(node.slice).strip("'\"")
        if not _ALLOWED_VARIABLES.fullmatch(key):
            yield f"unusual environment variables ({key})"
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
        yield from _strange(node, text)


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module


def _strange(node: ast.Constant, text: str) -> Iterator[str]:
    value = node.value
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    assert isinstance(value, str)
    if _ENCODED.search(value):
        yield "encoded text"
    elif _ESCAPES.search(ast.get_source_segment(text, node) or ""):
        yield "escapes in a string"
    if _INSTALLS.search(value):
        yield "a package install"


def _dependencies(subject: Subject) -> Iterator[Hit]:
    for node in subject.nodes():
        for module in _imported(node):
            top = module.split(".")[0]
            if top not in ("torch", "triton") and top not in sys.stdlib_module_names:
                yield subject.name, getattr(node, "lineno", None), f"it needs {top}"


RULES = (
    Rule(
        "safety",
        "Nothing of the safety list: network, shell, eval, pickles, files, encoded text, installs, other processes.",
        "leave it out; a repro needs none of it",
        _safety,
    ),
    Rule(
        "dependencies",
        "A repro needs torch and nothing else.",
        "replace it by a few lines of torch",
        _dependencies,
    ),
)
