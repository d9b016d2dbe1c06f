"""The Triton kernels that inductor writes for a program, caught on their way to Triton's compiler,
on a machine without a GPU too.

On the CPU inductor can be asked for Triton code; compiling that for the CPU takes a Triton that few
have, and is not what anybody runs. So each text is taken instead of compiled, with what inductor
says about its arguments, and the program goes on with whatever its outputs hold. The same texts are
then compiled for GPUs that need not be there.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
from typing import Any, Callable, Dict, List, Optional, Tuple

from ..protocol.kernels import KernelLaunch
from .launches import OPTIONS, describe_launch

_MOST = 24
#: Elements of a block along one dimension and of all together, where inductor would measure which
#: is best.
_BLOCK, _ELEMENTS = 64, 1024
_KEPT = ("triton", "torch._inductor.runtime")


class GeneratedKernels:
    """What inductor wrote: `rows` as `launches.Launches` has them, with `text`, the kernel without
    inductor's launcher.
    """

    def __init__(self) -> None:
        self.rows: List[KernelLaunch] = []

    def note(self, name: str, source: str) -> Optional[KernelLaunch]:
        """Remembers one kernel; None where its text is not as we know it."""
        try:
            row = describe(name, source)
        except (SyntaxError, ValueError, KeyError):
            row = None
        if row is not None and len(self.rows) < _MOST:
            self.rows.append(row)
        return row


class LaunchNotes:
    """Stands for a compiled kernel: notes the arguments of its first launch, and computes
    nothing.
    """

    def __init__(self, row: Optional[KernelLaunch], name: str) -> None:
        self._row, self.name = row, name

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Notes a launch, as inductor's wrapper makes it, unless one was noted before."""
        if self._row is not None and "arguments" not in self._row:
            names = list(self._row["signature"])
            self._row["arguments"] = {
                name: describe_launch(value) for name, value in zip(names, args)
            }
            given = {name: kwargs[name] for name in OPTIONS if kwargs.get(name) is not None}
            self._row["options"] = {**self._row["options"], **given}

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def watch(found: GeneratedKernels, launcher: Callable[[Optional[KernelLaunch], str], Any]) -> None:
    """Makes inductor write Triton code for every device and hand it to `found`.

    `launcher` makes what inductor's code launches, of a kernel's row and name.

    Raises:
        AttributeError: it cannot.
    """
    import torch._inductor.config as config
    import torch.utils._triton as about
    from torch._inductor import async_compile

    if not hasattr(config, "cpu_backend"):
        raise AttributeError("this inductor writes no Triton code for the CPU")
    config.cpu_backend = "triton"
    config.compile_threads = 1
    for name in ("fx_graph_cache", "fx_graph_remote_cache"):
        with contextlib.suppress(AttributeError):
            setattr(config, name, False)
    # asks for the driver of a GPU, only to name the cache
    about.triton_hash_with_backend = lambda *_: "0"

    def triton(self: Any, kernel_name: str, source_code: str, *_: Any, **__: Any) -> Any:
        return launcher(found.note(kernel_name, source_code), kernel_name)

    async_compile.AsyncCompile.triton = triton


def describe(name: str, source: str) -> Optional[KernelLaunch]:
    """A generated text as a launch, without its arguments.

    Raises:
        ValueError: the text lacks what it usually has.
        KeyError: the text lacks what it usually has.
    """
    tree = ast.parse(source)
    found = _find_kernels(tree)
    if not found:
        return None
    kernel, launcher = found[-1]  # what stands before it are its helpers
    given = {item.arg: item.value for item in launcher.keywords}
    meta = _read_entries(given["triton_meta"])
    signature = {
        key: value
        for key, value in ast.literal_eval(meta["signature"]).items()
        if value != "constexpr"
    }
    constants = ast.literal_eval(meta["constants"]) if "constants" in meta else {}
    constants = {_name_constant(key, signature): value for key, value in constants.items()}
    hints = ast.literal_eval(given["size_hints"]) if "size_hints" in given else {}
    kinds = _read_kinds(kernel, signature)
    own = [name for name, kind in kinds.items() if kind == "constexpr" and name not in constants]
    constants.update(choose_block_sizes(own, hints))
    aligned = _find_aligned(meta.get("configs"))
    names = list(kinds)
    return {
        "kernel": kernel.name,
        "name": name,
        "text": _extract_kernel(tree),
        "signature": kinds,
        "constexprs": {key: value for key, value in constants.items() if key in kinds},
        "aligned": [
            names[place] for place in aligned if place < len(names) and names[place] in signature
        ],
        "options": {},
        "blocks": own,
        "launcher": _read_literals(given.get("inductor_meta")),
        "heuristics": ast.unparse(launcher.func).rpartition(".")[2],
        "size_hints": (
            {str(key): value for key, value in dict(hints).items()}
            if isinstance(hints, dict)
            else list(hints)
        ),
    }


def _find_kernels(tree: ast.Module) -> List[Tuple[ast.FunctionDef, ast.Call]]:
    """The functions that a call decorates, each with that call: inductor's launcher."""
    return [
        (node, item)
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        for item in node.decorator_list
        if isinstance(item, ast.Call)
    ]


def _read_kinds(kernel: ast.FunctionDef, signature: Dict[str, str]) -> Dict[str, str]:
    """What each parameter is, in their order, which is that of the compiler's attributes."""
    kinds: Dict[str, str] = {}
    for parameter in kernel.args.args:
        is_constant = parameter.annotation is not None and "constexpr" in ast.unparse(
            parameter.annotation
        )
        kinds[parameter.arg] = "constexpr" if is_constant else signature.get(parameter.arg, "i32")
    return kinds


def _read_entries(node: ast.expr) -> Dict[str, ast.expr]:
    if not isinstance(node, ast.Dict):
        raise ValueError("no dictionary")
    return {
        key.value: value
        for key, value in zip(node.keys, node.values)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def _name_constant(key: Any, signature: Dict[str, str]) -> str:
    """The name of a constant parameter, which older releases number."""
    return list(signature)[key] if isinstance(key, int) else str(key)


def _read_literals(node: Optional[ast.expr]) -> Dict[str, object]:
    """The entries of a dictionary that are plain data, such as the shape of the grid."""
    found: Dict[str, object] = {}
    for key, value in _read_entries(node).items() if isinstance(node, ast.Dict) else ():
        with contextlib.suppress(ValueError, TypeError):
            plain = ast.literal_eval(value)
            json.dumps(plain)
            found[key] = plain
    return found


def choose_block_sizes(
    names: List[str], hints: Any, most: int = _BLOCK, elements: int = _ELEMENTS
) -> Dict[str, int]:
    """A size of at most `most` for each block, so that a program works on no more than `elements`.

    What a compiler is asked for is small: larger ones take it minutes.

    Args:
        names: the parameters of the kernel that are blocks, such as XBLOCK; those of what is
            reduced begin with R.
        hints: inductor's `size_hints`, the elements of each dimension by prefix ("x", "r0_");
            anything else tells nothing. A dimension without a block of its own is in each program
            as a whole.

    Returns:
        Elements by name, at least 1, in the order of `names`.
    """
    sizes = (
        {str(key).rstrip("_"): int(value) for key, value in dict(hints).items()}
        if hints and isinstance(hints, dict)
        else {}
    )
    own = {
        name: name[: -len("BLOCK")].lower().rstrip("_") for name in names if name.endswith("BLOCK")
    }
    room = elements
    for prefix, size in sizes.items():
        if prefix.startswith("r") and prefix not in own.values():
            room = max(1, room // size)
    found = {}
    # what is reduced gets its block first, as inductor does it
    for name in sorted(names, key=lambda item: not item.startswith("R")):
        size = min(sizes.get(own.get(name, ""), most), most, room) if name in own else 1
        found[name] = max(1, size)
        room = max(1, room // found[name])
    return {name: found[name] for name in names}


def _find_aligned(node: Optional[ast.expr]) -> List[int]:
    """Places of the parameters that are multiples of 16: a dictionary by place, or the lists of
    older releases.
    """
    if node is None:
        return []
    text = ast.unparse(node)
    new = [int(place) for place in re.findall(r"\((\d+),\): \[\['tt\.divisibility', 16\]\]", text)]
    old = re.search(r"(?:'tt\.divisibility': |divisible_by_16=)\(([\d, ]*)\)", text)
    return new or ([int(item) for item in re.findall(r"\d+", old.group(1))] if old else [])


def _extract_kernel(tree: ast.Module) -> str:
    """The kernel with its helpers and imports, without inductor's launcher, which would ask for a
    GPU.
    """
    kept: List[ast.stmt] = []
    for node in tree.body:
        if isinstance(node, ast.Import) or (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith(_KEPT)
            and not any(item.name == "AttrsDescriptor" for item in node.names)
        ):
            kept.append(node)
        elif isinstance(node, ast.FunctionDef):
            node.decorator_list = [
                item for item in node.decorator_list if not isinstance(item, ast.Call)
            ]
            kept.append(node)
    return ast.unparse(ast.fix_missing_locations(ast.Module(kept, [])))


def import_kernel(row: KernelLaunch, folder: str, number: Any) -> Any:
    """The kernel of a row as Triton's object; Triton reads its text from the file.

    Args:
        row: of a kernel that inductor wrote, with `text` and `kernel`.
        folder: an existing folder, in which the file is written.
        number: what the name of the file ends in; two kernels in one folder need two.

    Raises:
        Exception: whatever importing the text raises.
    """
    import importlib.util

    path = os.path.join(folder, "generated{}.py".format(number))
    with open(path, "w", encoding="utf-8") as out:
        out.write(row["text"] + "\n")
    spec = importlib.util.spec_from_file_location("generated{}".format(number), path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, row["kernel"])
