"""torch's own words, read from the torch that is installed: what a report may say without giving
anything away.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import warnings
from typing import Any, List, Set

import torch
import torch.fx
import torch.nn.functional

from .public_names import NAMESPACES

#: Words of torch.fx graphs that no signature holds: opcodes, keys of `meta`, the arguments of a
#: backend.
_GRAPHS = (
    "example_inputs example_value call_function call_method call_module get_attr placeholder output"
    " nn_module_stack stack_trace tensor_meta val gm graph_module sample_inputs hint expr"
)

#: Modules for programs of several processes, and what a process group of one process is made of.
_DISTRIBUTED = (
    "distributed distributed.device_mesh distributed.tensor distributed.tensor.parallel"
    " distributed._tensor distributed.fsdp distributed._functional_collectives nn.parallel"
)
_GROUPS = "gloo fake _internal fake_pg FakeStore"

#: A word in quotes: `'gelsd'`, or ‘gelsd’ as older documents write it.
_QUOTED = re.compile(r"(?<![\w.])['\"‘“]([a-z][a-z0-9_]*)['\"’”](?![\w(])")


def collect_vocabulary() -> List[str]:
    """The names of torch's public interface: modules, functions, layers and the names of their
    parameters.
    """
    words: Set[str] = set()
    for module in _list_public_modules():
        words.update(dir(module))
    words.update(_list_layer_names())
    words.update(_list_parameter_names())
    words.update(_list_graph_names())
    words.update(_SIGNATURES.split())
    words.update(_GRAPHS.split())
    words.update(_list_operator_names())
    words.update(_list_documented_options())
    words.update(_list_config_names())
    words.update(_list_exception_names())
    words.update(_list_backend_names())
    words.update(_list_onnx_names())
    words.update(_list_distributed_names())
    return sorted(word for word in words if word.isidentifier())


def _list_layer_names() -> Set[str]:
    """What layers and optimizers have, and the parameters of them and of the functions beside
    them.
    """
    words: Set[str] = set()
    for module in (
        torch.nn,
        torch.nn.functional,
        torch.nn.init,
        torch.optim,
        torch.optim.lr_scheduler,
    ):
        for value in list(vars(module).values()):
            if inspect.isclass(value):
                words.update(dir(value))
            _add_parameters(value, words)
    return words


def _list_parameter_names() -> Set[str]:
    """The parameters of functions that work on other functions, and of those that set a mode."""
    words: Set[str] = set()
    for module in (
        *("library", "func", "autograd", "amp", "utils.checkpoint", "export"),
        *("_higher_order_ops", "nn.attention.flex_attention"),
    ):
        found: Any = sys.modules.get("torch." + module)
        for value in list(vars(found).values()) if found is not None else ():
            _add_parameters(value, words)
    for name in (
        "compile",
        "autocast",
        "no_grad",
        "inference_mode",
        "set_grad_enabled",
        "Generator",
    ):
        _add_parameters(getattr(torch, name, None), words)
    return words


def _list_graph_names() -> Set[str]:
    """What results with named fields have, and the objects of a graph."""
    words: Set[str] = set()
    for value in vars(torch.return_types).values():  # such as `solution` of `linalg.lstsq`
        if inspect.isclass(value):
            words.update(dir(value))
    for value in (
        torch.fx.Node,
        torch.fx.Graph,
        torch.fx.GraphModule,
        torch.fx.Interpreter,
        torch.SymInt,
    ):
        words.update(dir(value))
    return words


def _list_operator_names() -> Set[str]:
    """The names of torch's operators and of their overloads; what other namespaces define is the
    program's.
    """
    found: Set[str] = set()
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        if namespace in NAMESPACES:
            found.update((name, schema.overload_name))
    return found


def _list_documented_options() -> Set[str]:
    """What the documents of functions and layers have in quotes: the texts that they take, such as
    the drivers of `torch.linalg.lstsq`.
    """
    found: Set[str] = set()
    for name in ("", "Tensor", "nn", "nn.functional", "nn.init", "linalg", "fft", "special"):
        place: Any = getattr(torch, name, None) if "." not in name else None
        if place is None:
            place = sys.modules.get("torch." + name) if name else torch
        for key in dir(place):
            member = None if key.startswith("_") else getattr(place, key, None)
            # what a program has put there is its own; built-in functions name no module
            origin = getattr(member, "__module__", None) or "torch"
            text = getattr(member, "__doc__", None)
            if isinstance(text, str) and str(origin).split(".")[0] == "torch":
                found.update(_QUOTED.findall(text))
    return found


def _list_config_names() -> Set[str]:
    """Settings of torch's compiler, read from the text of its configuration files: importing those
    takes seconds.
    """
    setting = re.compile(r"^ {0,8}(?:class )?([A-Za-z]\w+)\s*(?::[^=\n]*)?(?:=|:$)", re.MULTILINE)
    files = ("_dynamo/config.py", "_inductor/config.py", "_functorch/config.py")
    return {name for file in files for name in setting.findall(_read_text(file))}


def _list_exception_names() -> Set[str]:
    """The exceptions of torch's compiler, which people copy into comments; read from the text of
    their modules, since importing those takes seconds.
    """
    found = re.compile(r"^class (\w+)\(", re.MULTILINE)
    files = ("_dynamo/exc.py", "_inductor/exc.py")
    return {name for file in files for name in found.findall(_read_text(file))}


def _read_text(file: str) -> str:
    """A file of the installed torch; nothing where this release has none of that name."""
    path = os.path.join(os.path.dirname(torch.__file__), *file.split("/"))
    try:
        with open(path, encoding="utf-8") as source:
            return source.read()
    except OSError:
        return ""


def _list_onnx_names() -> Set[str]:
    """What the exporter to ONNX takes, and the public names of the packages that it works with;
    nothing where the program does not use it.
    """
    words: Set[str] = set()
    _add_parameters(getattr(sys.modules.get("torch.onnx"), "export", None), words)
    for package in ("onnx", "onnxruntime", "onnxscript"):
        if package in sys.modules:
            words.add(package)
            words.update(dir(sys.modules[package]))
    return words


def _list_distributed_names() -> Set[str]:
    """What torch offers to programs of several processes; nothing where this one has no process
    group.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return set()
    words = set(_GROUPS.split())
    found = (sys.modules.get("torch." + name) for name in _DISTRIBUTED.split())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.distributed has a class that warns when looked at
        for module in filter(None, found):
            words.update(dir(module))
            for value in list(vars(module).values()):
                if inspect.isclass(value):
                    words.update(dir(value))
                _add_parameters(value, words)
    return words


def _list_backend_names() -> Set[str]:
    """The backends of torch.compile that torch itself has registered, some of them for its own
    tests; the program's own are not among them.
    """
    registry = sys.modules.get("torch._dynamo.backends.registry")
    return {
        name
        for table in ("_COMPILER_FNS", "_BACKENDS")
        for name, made in getattr(registry, table, {}).items()
        if str(getattr(made, "__module__", "")).split(".")[0] == "torch"
    }


def _list_public_modules() -> List[Any]:
    names = (
        "nn nn.functional nn.init nn.utils linalg fft special autograd optim utils.data amp"
        " compiler backends"
    )
    names += (
        " backends.cpu backends.cudnn backends.mkldnn cuda testing distributions _dynamo sparse"
        " nested return_types"
    )
    names += " fx library utils.checkpoint autograd.function func export _higher_order_ops"
    names += " nn.attention nn.attention.bias nn.attention.flex_attention"
    found: List[Any] = [
        torch,
        torch.Tensor,
        torch.nn.Module,
        torch.nn.Parameter,
        torch.autograd.Function,
        torch.Generator,
    ]
    for name in names.split():
        module: Any = torch
        for part in name.split("."):
            module = getattr(module, part, None)
        if module is not None:
            found.append(module)
    return found


def _add_parameters(value: Any, words: Set[str]) -> None:
    if not callable(value):
        return
    try:
        words.update(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return


# Parameters of functions written in C++, whose signatures Python cannot read.
_SIGNATURES = """
input other dim dims keepdim keepdims out dtype layout device requires_grad pin_memory memory_format
generator size sizes stride strides storage_offset start end step steps base fill_value value values
alpha beta mat1 mat2 vec vec1 vec2 batch1 batch2 min max p q k n m largest sorted descending stable
return_inverse return_counts unique_dim side right out_int32 boundaries correction unbiased
equal_nan rtol atol diagonal offset dim1 dim2 dim0 axis axis0 axis1 source destination index src
reduce include_self accumulate indices mask tensors tensor shifts shift_amount rounding_mode
condition self weight weights minlength bins density normalized onesided center pad_mode win_length
hop_length n_fft window return_complex length periodic upper transpose unitriangular left hermitian
driver full_matrices compute_uv some eigenvectors get_infos pivot check_errors ord
split_size_or_sections chunks sections repeats output_size equation operands path indexing reps
decimals nan posinf neginf exponent low high num_samples replacement mean std mu sigma lambd
negative_slope threshold inplace training train momentum eps cudnn_enabled running_mean running_var
kernel_size padding dilation groups output_padding ceil_mode count_include_pad divisor_override
return_indices scale_factor mode align_corners recompute_scale_factor antialias approximate
attn_mask dropout_p is_causal scale enable_gqa non_blocking copy memory_format as_tuple device_type
cache_enabled enabled backend fullgraph dynamic options disable gradient retain_graph create_graph
seed set_to_none
"""
