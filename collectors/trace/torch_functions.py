"""What a tracer has to know of torch's functions and tensors."""

from __future__ import annotations

import contextlib
import inspect
import os
import types
from typing import Any, Dict, Iterator, List

import torch

from .. import FOLDER
from ..dynamo.translator import read_tensor_meta
from ..machine.libraries import is_library_file
from ..machine.public_names import NAMESPACES, is_torch_owned
from ..protocol.captured_trace import TracedModule
from ..protocol.captured_values import ResultLayout
from .custom_operators import find_definition
from .sizes import Size

#: Attributes of a tensor that are tensors; all others are facts, which the rewritten program does
#: not ask for.
VIEWS = frozenset("T mT H mH real imag grad data".split())
#: Calls that compute nothing, or answer the program with a fact.
SILENT = frozenset(
    "_set_grad_enabled __len__ __format__ __repr__ __hash__ __contains__ dim ndimension"
    " is_floating_point is_complex element_size numel nelement stride storage_offset data_ptr"
    " is_contiguous get_device _is_view is_inference is_tensor is_nonzero is_same_size result_type"
    " can_cast get_default_dtype retain_grad register_hook _log_api_usage_once is_storage"
    " untyped_storage _version has_names __dir__".split()
)


#: Defaults of functions whose signature Python cannot read.
_BUILT_IN: Dict[str, Dict[str, Any]] = {
    "scaled_dot_product_attention": {"attn_mask": None, "dropout_p": 0.0, "is_causal": False,
    "scale": None, "enable_gqa": False},
    "gelu": {"approximate": "none"},
}  # fmt: skip
_CPU = torch.device("cpu")


def drop_defaults(func: Any, kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """Keyword arguments but for those that say what holds anyway.

    Args:
        func: one of torch's; the defaults are those of its signature.
        kwargs: not changed. A `device` that is the CPU goes too, but for methods of tensors.
    """
    defaults: Dict[str, Any] = dict(_BUILT_IN.get(getattr(func, "__name__", ""), {}))
    if not defaults:
        with contextlib.suppress(TypeError, ValueError):
            parameters = inspect.signature(func).parameters
            defaults = {name: item.default for name, item in parameters.items()}
    kept = {}
    for name, value in kwargs.items():
        plain = isinstance(value, (int, float, str, type(None)))
        default = defaults.get(name, inspect.Parameter.empty)
        if plain and type(value) is type(default) and value == default:
            continue
        kept[name] = value
    if kept.get("device") in (_CPU, "cpu") and "Tensor" not in getattr(func, "__qualname__", ""):
        del kept["device"]  # a tensor is created there by default
    return kept


def build_size_key(value: Any) -> Any:
    """Equal for sizes that were read or computed alike."""
    if type(value) is not Size:
        return int(value)
    kind, *operands = value.derivation
    return (
        (kind, operands[0], tuple(map(build_size_key, operands[1])))
        if kind == "op"
        else value.derivation
    )


def is_wrapped(tensor: torch.Tensor) -> bool:
    """Whether a transform of torch.func has a tensor in its hands (vmap, grad, jvp)."""
    functorch = torch._C._functorch
    asks = ("is_functorch_wrapped_tensor", "is_batchedtensor", "is_gradtrackingtensor")
    return any(bool(getattr(functorch, name, lambda _: False)(tensor)) for name in asks)


def has_dispatch(tensor: torch.Tensor) -> bool:
    """Whether a tensor is of a class that is not torch's and decides itself what operators do."""
    cls = type(tensor)
    plain = getattr(cls, "__torch_dispatch__", None) is torch._C._disabled_torch_dispatch_impl
    return cls is not torch.Tensor and not plain and not is_torch_owned(cls)


@contextlib.contextmanager
def pause_watching() -> Iterator[None]:
    """Where our own operations are nobody's."""
    with torch._C.DisableTorchFunction(), torch.utils._python_dispatch._disable_current_modes():
        yield


def copy_values(tensor: torch.Tensor) -> torch.Tensor:
    """The values as they are now, in a tensor of the same shape, dtype and layout of memory.

    The copy of a strided tensor has the same strides and storage offset.
    """
    if tensor.layout != torch.strided or not tensor.numel():
        return tensor.detach().clone()
    size = tensor.untyped_storage().nbytes() // tensor.element_size()
    whole = torch.as_strided(tensor.detach(), (size,), (1,), 0).clone()
    return torch.as_strided(whole, tensor.shape, tensor.stride(), tensor.storage_offset())


#: What hands a tensor's values to Python.
DECISIONS = frozenset({"__bool__", "__int__", "__float__", "__index__", "tolist", "numpy"})


def build_empty_module(number: int) -> TracedModule:
    """A module of the trace before anything is known of it."""
    return {
        "id": number,
        "training": True,
        "sequential": False,
        "stock": None,
        "children": [],
        "state": [],
    }


def find_implementation(func: Any) -> Any:
    """The Python function behind a custom operator, where torch knows it."""
    found = find_definition(func)
    return found._init_fn if found is not None else None


def is_custom(func: Any) -> bool:
    """Whether an operator is of a namespace that torch does not define."""
    if isinstance(func, torch._ops.OpOverload):
        return func.namespace not in NAMESPACES
    if isinstance(func, torch._ops.OpOverloadPacket):
        return str(func).split("::")[0].split(".")[0] not in NAMESPACES
    return False


def read_metas(result: Any) -> List[ResultLayout]:
    """Shape, dtype and stride of each tensor of a result, nested as the result is; None for what is
    no tensor.
    """
    return [
        (
            read_tensor_meta(item)
            if isinstance(item, torch.Tensor)
            else read_metas(item) if isinstance(item, (tuple, list)) else None
        )
        for item in result
    ]


def find_replaced() -> Iterator[str]:
    """Names of torch that the program has given another meaning: with them stock layers are not
    what they say.

    Both models would call the replacement and be equal here, and nowhere else.
    """
    functional = torch.nn.functional
    for name, value in list(vars(functional).items()):
        if not name.startswith("_") and _is_replacement(value):
            yield "torch.nn.functional." + name
    for owner, names, prefix in (
        (torch, dir(torch._C._VariableFunctions), "torch."),
        (torch.Tensor, dir(torch._C._TensorBase), "torch.Tensor."),
    ):
        for name in names:
            if not name.startswith("__") and _is_replacement(getattr(owner, name, None)):
                yield prefix + name
    for name, value in list(vars(torch.nn).items()):
        if isinstance(value, type) and _is_replacement(vars(value).get("forward")):
            yield "torch.nn." + name


def _is_replacement(value: Any) -> bool:
    """Whether it is a Python function that neither torch nor we have written."""
    if not isinstance(value, types.FunctionType):
        return False
    file = value.__code__.co_filename
    if os.path.basename(file) == "typing_extensions.py":  # which wraps what is deprecated
        return False
    return not (file.startswith(FOLDER) or is_library_file(file))
