"""The Dynamo graph of a recorded call as plain data (graph IR, JSON), with no name of the user's program in it.

A pass-through backend receives each graph; nodes become public names found by *identity* in torch's own modules, so
a private function can never slip in under a public name. What has no public name makes the capture say so.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import torch

from . import context, rungs
from .public_names import Unsupported, public_name, public_names, stock_constructor, torch_owned
from .spans import Watching

_ENTER = {
    "_enter_autocast": "torch.autocast",
    "_enter_inference_mode": "torch.inference_mode",
}
_EXIT = {"_exit_autocast", "_exit_inference_mode"}


def _hint(size: Any) -> int:
    if isinstance(size, torch.SymInt):
        hint = getattr(size.node, "hint", None)
        return int(hint) if hint is not None else 2
    return int(size)


def _symbols(value: torch.Tensor) -> List[Any]:
    """The sizes of a tensor, those that vary as the text of their expression."""
    return [str(size) if isinstance(size, torch.SymInt) else int(size) for size in value.shape]


def tensor_meta(value: torch.Tensor) -> Dict[str, Any]:
    """Shape, stride, dtype, device type and requires_grad of a real or fake tensor, sizes as numbers."""
    return {
        "shape": [_hint(size) for size in value.shape],
        "stride": (
            [_hint(step) for step in value.stride()] if value.layout == torch.strided else None
        ),
        "dtype": str(value.dtype).split(".")[-1],
        "device": value.device.type,
        "requires_grad": bool(value.requires_grad),
    }


def _meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tensor_meta(value)
    if isinstance(value, (torch.SymInt, bool)) or isinstance(value, int):
        return {"scalar": "int"}
    if isinstance(value, (torch.SymFloat, float)):
        return {"scalar": "float"}
    if isinstance(value, (tuple, list)):
        return [_meta(item) for item in value]
    return None


def statistics(tensor: torch.Tensor) -> Dict[str, Any]:
    """What a synthetic stand-in must respect; never the values themselves."""
    data = tensor.detach()
    found: Dict[str, Any] = {"numel": data.numel()}
    if (
        data.numel() == 0
        or data.is_complex()
        or data.dtype == torch.bool
        or data.layout != torch.strided
    ):
        return found
    wide = data.double()
    finite = wide[torch.isfinite(wide)]
    found["nan"] = bool(torch.isnan(wide).any())
    found["inf"] = bool(torch.isinf(wide).any())
    found["negative_inf_only"] = found["inf"] and not bool((wide == float("inf")).any())
    if finite.numel():
        found.update(min=float(finite.min()), max=float(finite.max()), mean=float(finite.mean()))
        found["std"] = float(finite.std()) if finite.numel() > 1 else 0.0
        found["integral"] = bool((finite == finite.floor()).all())
        found["zeros"] = bool((finite == 0).any())
        flat = finite.reshape(-1)[:100000]
        found["constant"] = bool((flat == flat[0]).all())
        found["unique"] = (
            bool(flat.unique().numel() == flat.numel()) if flat.numel() <= 10000 else False
        )
    return found


_CASTS = frozenset("to type int long short byte char type_as _to_copy convert_element_type".split())


def _is_cast(node: Any) -> bool:
    """Whether some user converts the node's values to integers: C++ leaves that undefined for most of the floats."""
    for user in node.users:
        result = user.meta.get("example_value")
        short = getattr(user.target, "__name__", str(user.target)).split(".")[0]
        if short in _CASTS and isinstance(result, torch.Tensor):
            if not (result.is_floating_point() or result.is_complex()):
                return True
    return False


class Translator:
    """Translates one GraphModule; `values` are its real inputs if it ran, `spans` what `Watching` noted then."""

    def __init__(
        self,
        module: Any,
        values: Optional[Tuple[Any, ...]],
        owned: Dict[int, str],
        names: Dict[int, str],
        spans: Optional[Dict[str, Dict[str, Any]]] = None,
    ) -> None:
        self.spans = spans or {}
        self.module = module
        self.values = values
        self.owned = owned
        self.names = names
        self.refs: Dict[str, str] = {}
        self.sizes: Dict[str, Dict[str, Any]] = {}
        self.inputs: List[Dict[str, Any]] = []
        self.nodes: List[Dict[str, Any]] = []
        self.blocks: Dict[str, int] = {}
        self.storages: Dict[int, Tuple[str, torch.Tensor]] = {}
        self.outputs: List[Any] = []

    def translate(self) -> Dict[str, Any]:
        """The IR of the graph."""
        placeholders = [node for node in self.module.graph.nodes if node.op == "placeholder"]
        for index, node in enumerate(placeholders):
            self._placeholder(
                node, self.values[index] if self.values and index < len(self.values) else None
            )
        for node in placeholders:
            if node.name in self.sizes:
                self._size(node)
        for node in self.module.graph.nodes:
            if node.op == "output":
                self.outputs = self._flat(node.args[0])
            elif node.op != "placeholder":
                self._node(node)
        return {"inputs": self.inputs, "nodes": self.nodes, "outputs": self.outputs}

    def _fresh(self) -> str:
        return "n{}".format(len(self.nodes))

    def _placeholder(self, node: Any, value: Any) -> None:
        fake = node.meta.get("example_value")
        if (
            isinstance(fake, (torch.SymInt, int))
            or isinstance(value, int)
            and not isinstance(value, bool)
        ):
            self.sizes[node.name] = {
                "symbol": str(fake) if fake is not None else "",
                "value": value if isinstance(value, int) else None,
            }
            return
        if isinstance(fake, torch.SymFloat) or isinstance(value, float):
            self.refs[node.name] = ""
            self.sizes[node.name] = {
                "symbol": str(fake),
                "value": float(value) if value is not None else 1.0,
            }
            return
        tensor = value if isinstance(value, torch.Tensor) else fake
        if not isinstance(tensor, torch.Tensor):
            raise Unsupported("an input that is not a tensor")
        self._input(node.name, tensor, fake, value, _is_cast(node))

    def _input(
        self, name: str, tensor: torch.Tensor, fake: Any, value: Any, cast: bool = False
    ) -> None:
        label = self.owned.get(id(value), "")
        kind = (
            "param"
            if isinstance(value, torch.nn.Parameter) or isinstance(fake, torch.nn.Parameter)
            else "input"
        )
        if kind == "input" and label and not label.startswith(("arg", "kwarg")):
            kind = "buffer"
        public = "{}{}".format({"param": "p", "buffer": "b", "input": "x"}[kind], len(self.inputs))
        entry: Dict[str, Any] = {
            "name": public,
            "kind": kind,
            "meta": tensor_meta(fake if isinstance(fake, torch.Tensor) else tensor),
        }
        if isinstance(value, torch.Tensor):
            entry["meta"]["requires_grad"] = bool(value.requires_grad)
        if isinstance(fake, torch.Tensor):
            entry["symbols"] = _symbols(fake)
        if isinstance(value, torch.Tensor) and value.layout == torch.strided:
            entry["stats"] = statistics(value)
            self._alias(entry, value)
            if cast:
                entry["stats"]["cast"] = True
        self.inputs.append(entry)
        self.refs[name] = public

    def _alias(self, entry: Dict[str, Any], value: torch.Tensor) -> None:
        if not value.numel():
            return
        key = value.untyped_storage().data_ptr()
        if key in self.storages:
            owner, _ = self.storages[key]
            entry["alias"] = {"of": owner, "offset": int(value.storage_offset())}
        else:
            self.storages[key] = (entry["name"], value)

    def _size(self, node: Any) -> None:
        """A size that arrives as an input of its own becomes `tensor.size(dim)` of the input that carries it."""
        size = self.sizes[node.name]
        for entry in self.inputs:
            for dim, symbol in enumerate(entry.get("symbols", ())):
                if isinstance(symbol, str) and symbol == size["symbol"]:
                    name = self._fresh()
                    self.nodes.append(
                        {
                            "name": name,
                            "op": "method",
                            "target": "size",
                            "args": [{"ref": entry["name"]}, dim],
                            "kwargs": {},
                            "meta": {"scalar": "int"},
                            "block": [],
                        }
                    )
                    self.refs[node.name] = name
                    return
        fake = node.meta.get("example_value")
        self.refs[node.name] = ""
        size["constant"] = size["value"] if size["value"] is not None else _hint(fake)

    def _encode(self, value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            public = self.refs[value.name]
            if public == "":
                size = self.sizes[value.name]
                return size.get("constant", size["value"])
            return {"ref": public}
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, float)):
            return (
                {"float": repr(value)} if isinstance(value, float) and value - value != 0 else value
            )
        if isinstance(value, torch.dtype):
            return {"atom": str(value)}
        if isinstance(value, torch.device):
            return {"device": value.type}
        if isinstance(value, (torch.memory_format, torch.layout)):
            return {"atom": str(value)}
        if value is Ellipsis:
            return {"atom": "..."}
        if isinstance(value, slice):
            return {"slice": [self._encode(part) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, tuple):
            return {"tuple": [self._encode(item) for item in value]}
        if isinstance(value, list):
            return {"list": [self._encode(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[key, self._encode(item)] for key, item in value.items()]}
        if isinstance(value, torch.SymInt):
            return _hint(value)
        raise Unsupported(
            "an argument of type "
            + (type(value).__name__ if torch_owned(type(value)) else "object")
        )

    def _flat(self, value: Any) -> List[Any]:
        if isinstance(value, (tuple, list)):
            return [item for part in value for item in self._flat(part)]
        if isinstance(value, torch.fx.Node):
            return [self._encode(value)]
        return []

    def _block(self, node: Any) -> List[int]:
        stack = node.meta.get("nn_module_stack") or {}
        return [self.blocks.setdefault(str(key), len(self.blocks)) for key in stack]

    def _node(self, node: Any) -> None:
        op, target = self._operation(node)
        if op == "skip":
            return
        name = self._fresh()
        args = [self._encode(item) for item in node.args]
        kwargs = {key: self._encode(item) for key, item in node.kwargs.items()}
        self.refs[node.name] = name
        entry = {
            "name": name,
            "op": op,
            "target": target,
            "args": args,
            "kwargs": kwargs,
            "meta": _meta(node.meta.get("example_value")),
            "block": self._block(node),
        }
        value = node.meta.get("example_value")
        if isinstance(value, torch.Tensor) and any(
            isinstance(n, torch.SymInt) for n in value.shape
        ):
            entry["symbols"] = _symbols(value)
        if node.name in self.spans:
            entry["stats"] = dict(self.spans[node.name], cast=_is_cast(node))
        if op == "module":
            entry["module"] = stock_constructor(self.module.get_submodule(node.target))
        self.nodes.append(entry)

    def _operation(self, node: Any) -> Tuple[str, str]:
        if node.op == "get_attr":
            return self._attribute(node)
        if node.op == "call_method":
            if not hasattr(torch.Tensor, node.target):
                raise Unsupported("a method that torch.Tensor lacks")
            return "method", str(node.target)
        if node.op == "call_module":
            return "module", "module"
        short = getattr(node.target, "__name__", "")
        if short in _ENTER and torch_owned(node.target):
            return "enter", _ENTER[short]
        if short in _EXIT and torch_owned(node.target):
            return "exit", "exit"
        if short == "_log_api_usage_once" and torch_owned(node.target):
            return "skip", ""  # a note to torch's own telemetry, which computes nothing
        if short == "_set_grad_enabled":
            return "grad_mode", "torch._C._set_grad_enabled"
        return "function", public_name(node.target, self.names)

    def _attribute(self, node: Any) -> Tuple[str, str]:
        value = self.module
        for part in node.target.split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            raise Unsupported("a nested graph (higher-order operator)")
        self._input(node.name, value, node.meta.get("example_value"), value)
        return "skip", ""


def capture(call: rungs.Call, request: Dict[str, Any]) -> Dict[str, Any]:
    """Runs the call under a pass-through backend and returns `{"graphs": [IR, …]}` of the graphs it ran.

    A graph that Dynamo finds but that cannot be expressed is `{"unsupported": reason}`.
    """
    rungs.quiet_compile_workers()
    captured: List[Tuple[Any, List[Tuple[Any, ...]]]] = []
    watching: List[Watching] = []

    def backend(module: Any, example_inputs: Any) -> Any:
        runs: List[Tuple[Any, ...]] = []
        captured.append((module, runs))
        watching.append(Watching(module))
        watched = watching[-1]

        def run(*inputs: Any) -> Any:
            runs.append(inputs)
            return watched.run(*inputs)

        return run

    owned = {
        id(t): label
        for label, t in context.reachable(call.function, call.args, call.kwargs).items()
    }
    error = None
    with context.applied(call.state):
        torch._dynamo.reset()
        options = {
            key: call.options[key] for key in ("fullgraph", "dynamic") if key in call.options
        }
        if request.get("dynamic", "unset") != "unset":
            options["dynamic"] = request["dynamic"]
        original = getattr(torch.compile, "__wrapped__", torch.compile)
        function = original(call.function, backend=backend, **options)
        if request.get("replay"):
            rungs._replay(call, function)
        before = [len(runs) for _, runs in captured]
        try:
            function(*call.args, **call.kwargs)
        except Exception as raised:  # an invalid program still has a graph
            error = type(raised).__name__
    names = public_names()
    graphs: List[Dict[str, Any]] = []
    for index, (module, runs) in enumerate(captured):
        ran_now = len(runs) > (before[index] if index < len(before) else 0)
        if not ran_now and error is None and request.get("replay"):
            continue
        try:
            inputs = runs[-1] if runs else None
            graph = Translator(module, inputs, owned, names, watching[index].spans).translate()
            graph["runs"] = _bindings(
                module, [inputs for _, all_runs in captured for inputs in all_runs]
            )
        except Unsupported as reason:
            graph = {"unsupported": str(reason)}
        graphs.append(graph)
    return {"outcome": "ok", "graphs": graphs, "error": error}


def _bindings(module: Any, runs: List[Tuple[Any, ...]]) -> List[Dict[str, int]]:
    """What each call gave the symbolic sizes of a graph, oldest first: calls of other graphs of the same code included."""
    dims = []
    tensors = 0
    for node in module.graph.nodes:
        fake = node.meta.get("example_value") if node.op == "placeholder" else None
        if isinstance(fake, torch.Tensor):
            dims.append(
                [
                    (i, str(size))
                    for i, size in enumerate(fake.shape)
                    if isinstance(size, torch.SymInt)
                ]
            )
            tensors += 1
    bindings: List[Dict[str, int]] = []
    for inputs in runs:
        values = [value for value in inputs if isinstance(value, torch.Tensor)]
        if len(values) == tensors and all(
            len(v.shape) > max([i for i, _ in d], default=-1) for v, d in zip(values, dims)
        ):
            bound = {
                symbol: int(value.shape[i])
                for value, marks in zip(values, dims)
                for i, symbol in marks
            }
            if not bindings or bindings[-1] != bound:
                bindings.append(bound)
    return bindings[-9:]
