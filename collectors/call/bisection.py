"""Leaves out chosen applications of the compiler's own steps, to find the one that makes a failure.

torch asks `CompilerBisector.disable_subsystem` before every decomposition, graph pass and lowering.
Here that question is answered from a counter in this process: no status files, no environment
variables and none of torch's clean-up, which deletes caches. Only for disposable (forked)
processes: nothing is put back.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence

from ..machine import torch_settings
from ..protocol.compilation import CompilerSubsystem, SubsystemTable
from ..protocol.variation import BisectCount, BisectSpec, CallVariation
from ..protocol.words import PlainValue, TorchSettings

#: Operators of these namespaces are torch's own: their names are public and eager has a kernel for
#: them.
_OWN = ("aten", "prims", "prim")
_AUTOGRAD = ("Autograd", "CompositeImplicitAutograd")
_DECOMPOSING = ("torch._decomp.", "torch._refs")
_CACHES = (
    "torch._inductor.config.fx_graph_cache",
    "torch._inductor.config.fx_graph_remote_cache",
    "torch._functorch.config.enable_autograd_cache",
    "torch._functorch.config.enable_remote_autograd_cache",
    "torch._dynamo.config.caching_precompile",
)
#: Where the configuration change of a backend of torch's table lives.
_CONFIGS = {
    "inductor": "torch._inductor.config.",
    "aot_eager_decomp_partition": "torch._functorch.config.",
}


class CannotBisectError(Exception):
    """This torch cannot do what was asked; the message is in torch's words only."""


class Counter:
    """Numbers the applications of every subsystem from 1 and leaves out those of one above
    `most`.
    """

    def __init__(self, backend: str, subsystem: str, most: Optional[int]) -> None:
        self.key = backend + "/" + subsystem
        self.most = most
        self.counts: Dict[str, int] = {}
        self.operators: List[str] = []
        self.operator: Optional[str] = None
        self.step: Optional[str] = None

    def disable(
        self, backend: str, subsystem: str, debug_info: Optional[Callable[[], str]] = None
    ) -> bool:
        """Whether to leave out this application, as torch asks before it (`disable_subsystem` of
        `torch/_inductor/compiler_bisector.py`, 2.13.0).

        Args:
            backend: a key of `BACKENDS` there, such as "inductor".
            subsystem: one of that backend, such as "lowerings".
            debug_info: gives a text about the application, which may name things of the user's
                program; called only for the first one that is left out.
        """
        subject = _find_subject(debug_info)
        if subsystem == "lowerings" and _find_operator_name(subject) is None:
            return False  # nothing eager could do instead: 2.6 asks for these too, and then fails
        key = backend + "/" + subsystem
        number = self.counts[key] = self.counts.get(key, 0) + 1
        if key != self.key:
            return False
        name = _find_operator_name(subject)
        if name is not None and name not in self.operators:
            self.operators.append(name)
        if self.most is None or number <= self.most:
            return False
        if number == self.most + 1:
            self._note(debug_info, subject)
        return True

    def _note(self, debug_info: Optional[Callable[[], str]], subject: Any) -> None:
        with contextlib.suppress(Exception):  # it prints what Inductor holds at that moment
            said = str(debug_info()) if debug_info is not None else ""
            if _find_operator_name(subject) is None and _is_torch_pass(said):
                self.step = said
        self.operator = _find_operator_name(subject)

    def build_answer(self) -> BisectCount:
        """What was counted, and the first application that was left out."""
        return {
            "counts": dict(self.counts),
            "operators": self.operators[:64],
            "operator": self.operator,
            "pass": self.step,
        }


def apply(variation: CallVariation) -> Optional[Counter]:
    """Makes this process compile under a variation and returns the counter of its `bisect`.

    Of the keys, `fresh`, `threads`, `fallback`, `undecomposed`, `unbound` and `bisect` count here.

    Raises:
        CannotBisectError: this torch has no way to do it.
    """
    if variation.get("fresh"):
        _disable_caches()
    threads = variation.get("threads")
    if threads:
        import torch

        torch.set_num_threads(int(threads))
    for name in variation.get("fallback") or ():
        _fall_back(name)
    for name in variation.get("undecomposed") or ():
        _leave_whole(name)
    if variation.get("unbound"):
        _unbind_decompositions()
    spec = variation.get("bisect")
    return install(spec) if spec else None


def install(spec: BisectSpec) -> Counter:
    """Answers torch's question from a new counter, from now on.

    Raises:
        CannotBisectError: this torch does not ask.
    """
    known = [(entry["backend"], entry["subsystem"]) for entry in list_subsystems()["subsystems"]]
    if (spec["backend"], spec["subsystem"]) not in known:
        raise CannotBisectError("no subsystem {backend}/{subsystem}".format(**spec))
    counter = Counter(spec["backend"], spec["subsystem"], spec.get("max"))
    _disable_caches()
    bisector = _find_bisector()
    if bisector is None:
        _ask_before_lowering(counter)
        return counter
    bisector.bisection_enabled = True  # also keeps compiled graphs out of the caches
    bisector.disable_subsystem = counter.disable
    for name in ("get_backend", "get_subsystem", "get_config_change"):
        setattr(bisector, name, lambda *_: None)  # they would read status files
    return counter


def _ask_before_lowering(counter: Counter) -> None:
    """The question a torch without a bisector (2.0) does not ask, put before each lowering."""
    graph: Any = importlib.import_module("torch._inductor.graph").GraphLowering
    lowering = importlib.import_module("torch._inductor.lowering")
    original = graph.call_function

    def call_function(self: Any, target: Any, args: Any, kwargs: Any) -> Any:
        if counter.disable("inductor", "lowerings", lambda: repr(target)):
            return lowering.fallback_handler(target)(*args, **kwargs)
        return original(self, target, args, kwargs)

    graph.call_function = call_function


def list_subsystems(settings: Sequence[str] = ()) -> SubsystemTable:
    """What can be varied in this torch: its own table of subsystems, and the present value of each
    setting it has.
    """
    found: List[CompilerSubsystem] = []
    changes: TorchSettings = {}
    if _find_bisector() is None:
        found.append({"backend": "inductor", "subsystem": "lowerings"})
    else:
        table = importlib.import_module("torch._inductor.compiler_bisector").BACKENDS
        for backend, entries in table.items():
            for entry in entries:
                field = getattr(entry, "config_field", None)
                if field is None:
                    found.append({"backend": backend, "subsystem": entry.name})
                elif backend in _CONFIGS:
                    changes[_CONFIGS[backend] + field] = entry.config_value
    values: TorchSettings = {}
    for name in settings:
        with contextlib.suppress(Exception):  # it may be missing, or refuse to be printed
            values[name] = _make_plain(torch_settings.read_setting(name))
    return {"subsystems": found, "changes": changes, "settings": values}


def _disable_caches() -> None:
    """A compiled graph that is taken from a cache was not compiled under the variation."""
    for name in _CACHES:
        with contextlib.suppress(torch_settings.NoSuchSettingError):
            torch_settings.set_settings({name: False})


def _fall_back(name: str) -> None:
    """Makes Inductor call the eager kernel of one operator, say `aten.relu.default`.

    Raises:
        CannotBisectError: this torch has no way to do it.
    """
    try:
        lowering = importlib.import_module("torch._inductor.lowering")
        lowering.make_fallback(_find_operator(name), warn=False)
    except Exception as error:  # no such operator, or an assertion of Inductor's
        raise CannotBisectError("Inductor cannot fall back for {}".format(name)) from error


def _leave_whole(name: str) -> None:
    """Takes one operator out of Inductor's table of decompositions.

    Raises:
        CannotBisectError: this torch has no way to do it.
    """
    try:
        importlib.import_module("torch._inductor.decomposition").decompositions.pop(
            _find_operator(name)
        )
    except (ImportError, AttributeError, KeyError) as error:
        raise CannotBisectError("{} is not decomposed".format(name)) from error
    forget_decompositions()


def _unbind_decompositions() -> None:
    """Takes the kernels in Python away that operators have for autograd.

    Tracing meets them before any table of decompositions is read (`OpOverload.py_impl` with
    `DispatchKey.Autograd` or `CompositeImplicitAutograd` in `torch/_decomp/decompositions.py`).

    Raises:
        CannotBisectError: this torch has none.
    """
    found = 0
    for operator in _list_decomposed_operators():
        bound = getattr(operator, "py_kernels", None) or {}
        for key in [key for key in bound if str(key).rpartition(".")[2] in _AUTOGRAD]:
            if str(getattr(bound[key], "__module__", "")).startswith(_DECOMPOSING):
                del bound[key]
                operator._dispatch_cache.clear()
                found += 1
    if not found:
        raise CannotBisectError("no operator has a kernel in Python for autograd")


def _list_decomposed_operators() -> List[Any]:
    """Every overload of an operator of torch's that something has asked for, as who binds a kernel
    to it does.
    """
    import torch

    importlib.import_module("torch._decomp.decompositions")
    packets = [
        vars(packet) for packet in vars(torch.ops.aten).values() if hasattr(packet, "__dict__")
    ]
    return [overload for found in packets for overload in found.values()]


def forget_decompositions() -> None:
    """Makes the next compile read the table of decompositions again, of which Inductor keeps a copy
    from the first on.
    """
    table = sys.modules.get("torch._inductor.decomposition")
    forget = getattr(getattr(table, "fast_random_decomps", None), "cache_clear", None)
    if forget is not None:
        forget()


def _find_operator(name: str) -> Any:
    import torch

    target: Any = torch.ops
    for part in name.split("."):
        target = getattr(target, part)
    return target


def _find_operator_name(subject: Any) -> Optional[str]:
    """The public name of an operator or of a graph node's operator, if it is one of torch's own."""
    target = getattr(subject, "target", subject)
    if getattr(target, "namespace", None) not in _OWN:
        return None
    return str(target)


def _find_subject(debug_info: Optional[Callable[[], str]]) -> Any:
    """What a debug text is made from: torch passes `lambda: repr(n)`, whose `n` is the node or the
    operator.
    """
    for cell in getattr(debug_info, "__closure__", None) or ():
        with contextlib.suppress(ValueError):
            if _find_operator_name(cell.cell_contents) is not None:
                return cell.cell_contents
    return None


def _is_torch_pass(name: str) -> bool:
    """Whether torch's own passes have this name in their source: a user's custom pass may be called
    anything.
    """
    if not name.isidentifier():
        return False
    import torch

    root = os.path.join(os.path.dirname(torch.__file__), "_inductor")
    literal = re.compile("[\"']" + re.escape(name.rstrip("0123456789")) + "[\"'{]|def " + name)
    for folder, _, files in os.walk(root):
        for file in files:
            if file.endswith(".py") and ("fx_passes" in folder or folder == root):
                with open(os.path.join(folder, file), encoding="utf-8", errors="replace") as source:
                    if literal.search(source.read()):
                        return True
    return False


def _find_bisector() -> Any:
    """torch's own bisector, or None where there is none (2.0)."""
    try:
        return importlib.import_module("torch._inductor.compiler_bisector").CompilerBisector
    except (ImportError, AttributeError):
        return None


def _make_plain(value: Any) -> PlainValue:
    return value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)[:80]
