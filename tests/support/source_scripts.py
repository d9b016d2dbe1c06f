"""Small private programs for the source mode: each defines ENTRY and ARGS, some KWARGS and BACKEND.

Every name with `secret` in it (in any alphabet that the script uses) is a canary: no public byte may contain one.
"""

from __future__ import annotations

STOCK_NAMES = """
import torch
from torch import nn

class Linear(nn.Module):
    '''secret docstring'''
    def __init__(self, secret_size):
        super().__init__()
        self.weight = nn.Linear(secret_size, 4)  # secret comment
        self.view = 3
        self.größe_secret = nn.Parameter(torch.ones(4))

    def forward(self, x):
        y = self.weight(x) * self.größe_secret
        return y.view(-1, self.view - 1) + self.weight.weight.sum()

ENTRY = Linear(6)
ARGS = (torch.randn(2, 6),)
"""

ASKED_BY_NAME = """
import torch

class Secret:
    def __getattr__(self, name):
        if name == "secret_sum":
            return lambda x: x.sum()
        raise AttributeError(name)

def secret_call(x):
    torch._dynamo.mark_dynamic(x, 0)
    return Secret().secret_sum(x)

ENTRY = secret_call
ARGS = (torch.ones(3, 2),)
"""

OPERATORS = """
import torch
from torch import nn

@torch.library.custom_op("secret_space::secret_scale", mutates_args=())
def secret_scale(secret_x: torch.Tensor, secret_factor: float, *, secret_shift: int = 2) -> torch.Tensor:
    return secret_x * secret_factor + secret_shift

@secret_scale.register_fake
def _(secret_x, secret_factor, *, secret_shift=2):
    return torch.empty_like(secret_x)

def secret_setup(ctx, inputs, keyword_only_inputs, output):
    ctx.secret_factor = inputs[1]

def secret_backward(ctx, grad):
    return grad * ctx.secret_factor, None

secret_scale.register_autograd(secret_backward, setup_context=secret_setup)

@torch.library.custom_op("secret_space::secret_fill", mutates_args=("secret_out",))
def secret_fill(secret_out: torch.Tensor, secret_like: torch.Tensor) -> None:
    secret_out.copy_(secret_like + 1)

class SecretModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.secret_proj = nn.Linear(3, 3)

    def forward(self, x):
        y = secret_scale(self.secret_proj(x), 1.5, secret_shift=3)
        z = torch.empty_like(y)
        torch.ops.secret_space.secret_fill(z, secret_like=y)
        (grad,) = torch.autograd.grad(y.sum(), self.secret_proj.bias)
        return z, torch.ops.secret_space.secret_scale.default(y, 2.0), grad

ENTRY = SecretModel()
ARGS = (torch.randn(2, 3),)
"""

CLOSURES = """
import torch

def secret_maker(secret_scale, secret_mask):
    secret_calls = 0
    def secret_inner(x):
        nonlocal secret_calls
        secret_calls += 1
        return x * secret_scale + secret_mask.sum(), secret_calls
    return secret_inner

ENTRY = secret_maker(3, torch.ones(5))
ARGS = (torch.randn(5),)
"""

LAMBDA = """
import torch
import torch.nn.functional as F

pair_secret = (lambda x: x.relu(), lambda y, alpha_secret=2: (F.silu(y) * alpha_secret).sum(-1))
ENTRY = pair_secret[1]
ARGS = (torch.randn(3, 4),)
"""

FUNCTION = """
import torch

class SecretOp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, secret_counter):
        ctx.secret_counter = secret_counter
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.secret_counter + x, None

def secret_step(x):
    return SecretOp.apply(x, 2).sin()

ENTRY = secret_step
ARGS = (torch.randn(3, requires_grad=True),)
"""

TIED = """
import torch
from torch import nn

class SecretModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.secret_embed = nn.Embedding(11, 8)
        self.secret_head = nn.Linear(8, 11, bias=False)
        self.secret_head.weight = self.secret_embed.weight
        self.secret_blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.secret_drop = nn.Dropout(0.25)
        self.secret_unused = nn.Linear(1000, 7)

    def forward(self, secret_ids):
        h = self.secret_embed(secret_ids)
        for secret_block in self.secret_blocks:
            h = self.secret_drop(secret_block(h) + secret_block.weight[0])
        return self.secret_head(h), self.secret_head.weight is self.secret_embed.weight

ENTRY = SecretModel().eval()
ARGS = (torch.tensor([[1, 2, 3]]),)
"""

TEXTS = """
import torch

SECRET_CONFIG = {"secret_width": 4, "mode_secret": "secret value", "nested": {"secret_deep": 2}}

class SecretHolder:
    pass

def secret_entry(x, secret_kind="secret-kind", *, secret_flag=False):
    holder = SecretHolder()
    setattr(holder, "secret_field", SECRET_CONFIG["secret_width"])
    message = f"secret {holder.secret_field} text"
    assert message and secret_kind == "secret-kind", "secret assertion"
    out = torch.div(x, getattr(holder, "secret_field"), rounding_mode="floor")
    out = torch.einsum("secrt,r->sect", x.expand(1, 1, 1, 3, 2), x[:, 0])
    return out if secret_flag else -out

ENTRY = secret_entry
ARGS = (torch.randn(3, 2),)
KWARGS = {"secret_flag": True}
"""

OBJECTS = """
import enum
from dataclasses import dataclass, field
from typing import NamedTuple
import torch

class SecretMode(enum.Enum):
    secret_fast = 1
    secret_slow = 2

class SecretFlags(enum.IntFlag):
    secret_warm = 1
    secret_hot = 2

@dataclass
class SecretSpec:
    secret_dim: int
    secret_token: str = "secret"
    def secret_half(self):
        return self.secret_dim // 2

class SecretPair(NamedTuple):
    secret_first: torch.Tensor
    secret_second: int = 1

class SecretPlain:
    def __init__(self, secret_path):
        self.secret_path = open(secret_path).read()
    @property
    def secret_size(self):
        return self.secret_scale + 1

plain = SecretPlain.__new__(SecretPlain)
plain.secret_scale = 2

def secret_entry(secret_spec, secret_pair, secret_plain, secret_flags):
    assert SecretMode.secret_fast is not SecretMode.secret_slow
    assert secret_flags & SecretFlags.secret_hot and secret_flags & SecretFlags.secret_warm
    made = SecretPair(secret_pair.secret_first + secret_plain.secret_size)
    return made.secret_first * secret_spec.secret_half() + made.secret_second

ENTRY = secret_entry
ARGS = (SecretSpec(8), SecretPair(torch.ones(2, 2)), plain, SecretFlags.secret_warm | SecretFlags.secret_hot)
"""

DECORATED = """
import functools
import torch

def secret_decorator(function):
    @functools.wraps(function)
    def secret_wrapper(*args, **kwargs):
        return function(*args, **kwargs) + 1
    return secret_wrapper

@secret_decorator
@torch.no_grad()
def secret_inner(x, secret_power):
    return x ** secret_power

@torch.compile
def secret_outer(x):
    return functools.reduce(lambda a, b: a + b, [secret_inner(x, secret_power=n) for n in range(1, 3)])

ENTRY = secret_outer
ARGS = (torch.ones(2, 3, requires_grad=True),)
"""

LAYOUTS = """
import torch
base = torch.randn(10)
image = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
steps = torch.arange(6)

def secret_entry(secret_a, secret_b, secret_image, secret_turned, secret_wide, secret_steps):
    secret_a.add_(1)
    assert secret_image.is_contiguous(memory_format=torch.channels_last)
    return secret_b, secret_image * 2, secret_turned.stride(), secret_wide.stride(), secret_steps[secret_steps]

ENTRY = secret_entry
ARGS = (base[:6], base[2:8], image, torch.randn(3, 4).t(), torch.randn(3, 1).expand(3, 5), steps)
"""

INHERITED = """
import functools
import torch
from torch import nn

class SecretBase(nn.Module):
    secret_factor = 2
    def __init__(self, secret_width):
        super().__init__()
        self.secret_layer = nn.Linear(secret_width, secret_width)
        self.register_buffer("secret_positions", torch.arange(secret_width))
    def secret_helper(self, x):
        return self.secret_layer(x) * self.secret_factor

class SecretChild(SecretBase):
    def forward(self, x):
        return self.secret_helper(x) + self.secret_positions

class SecretStack(nn.Sequential):
    def forward(self, x, secret_times):
        for _ in range(secret_times):
            x = super().forward(x)
        return x

class SecretWrapped(nn.Linear):
    def forward(self, x):
        return super().forward(x) + self.in_features

ENTRY = functools.partial(SecretStack(SecretChild(4), SecretChild(4), SecretWrapped(4, 4)), secret_times=2)
ARGS = (torch.randn(2, 4),)
"""

BACKEND = """
import torch

SECRET_LIMIT = 2

def secret_check(secret_node):
    return secret_node.op == "call_function" and secret_node.target is torch.relu

def secret_backend(secret_module, secret_inputs):
    secret_found = [secret_node for secret_node in secret_module.graph.nodes if secret_check(secret_node)]
    assert len(secret_found) < SECRET_LIMIT, "secret limit"
    return secret_module.forward

def secret_entry():
    return torch.relu(torch.ones(2, 2))

ENTRY = secret_entry
ARGS = ()
BACKEND = secret_backend
"""

MODULES = """
import torch
import secret_library.secret_tools as st
from secret_library import secret_tools

def secret_entry(x):
    import math as secret_math
    return st.secret_scale(x) + secret_tools.SECRET_STEP + secret_math.pi

ENTRY = secret_entry
ARGS = (torch.randn(2),)
"""

LIBRARY = """
SECRET_STEP = 3
def secret_scale(x):
    return x * SECRET_STEP
"""

ROWS = """
import torch
from torch import nn

class SecretBlock(nn.Module):
    def forward(self, x):
        return x + 1

class SecretNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.secret_blocks = nn.ModuleList([SecretBlock(), SecretBlock()])

    def forward(self, x, secret_numbered=False):
        secret_steps = list(enumerate(self.secret_blocks)) if secret_numbered else self.secret_blocks
        return secret_steps[0][1](x) if secret_numbered else secret_steps[0](x)

ENTRY = SecretNet()
ARGS = (torch.randn(3),)
"""

SCRIPTS = {
    "stock_names": STOCK_NAMES,
    "asked_by_name": ASKED_BY_NAME,
    "operators": OPERATORS,
    "closures": CLOSURES,
    "lambda": LAMBDA,
    "function": FUNCTION,
    "tied": TIED,
    "texts": TEXTS,
    "objects": OBJECTS,
    "decorated": DECORATED,
    "layouts": LAYOUTS,
    "inherited": INHERITED,
    "backend": BACKEND,
    "modules": MODULES,
    "rows": ROWS,
}

# Runs where torch is: gathers each script in its own namespace and runs its entry eagerly.
GATHER = """
import importlib, importlib.util, json, runpy, sys, traceback
folder, package, out = sys.argv[1:4]
spec = importlib.util.spec_from_file_location("_c", package + "/__init__.py", submodule_search_locations=[package])
module = importlib.util.module_from_spec(spec)
sys.modules["_c"] = module
spec.loader.exec_module(module)
import torch
source = importlib.import_module("_c.source")
words = importlib.import_module("_c.vocabulary").vocabulary()
sys.path.insert(0, folder)

def looks(value):
    if isinstance(value, torch.Tensor):
        return [list(value.shape), list(value.stride()), str(value.dtype), value.requires_grad]
    if isinstance(value, (tuple, list)):
        return [looks(each) for each in value]
    return repr(value)

def original(value):
    return getattr(value, "_torchdynamo_orig_callable", value)

answers = {"vocabulary": words, "scripts": {}}
for name in sys.argv[4:]:
    made = runpy.run_path(folder + "/" + name + ".py")
    entry, args, kwargs = made["ENTRY"], made["ARGS"], made.get("KWARGS", {})
    gathered = json.loads(json.dumps(source.gather(entry, args, kwargs, made.get("BACKEND"))))
    answers["scripts"][name] = {"gathered": gathered, "result": looks(original(entry)(*args, **kwargs))}
with open(out, "w") as file:
    json.dump(answers, file)
"""

# Runs where torch is: the public texts, eagerly.
RUN = """
import json, runpy, sys, traceback
import torch

def looks(value):
    if isinstance(value, torch.Tensor):
        return [list(value.shape), list(value.stride()), str(value.dtype), value.requires_grad]
    if isinstance(value, (tuple, list)):
        return [looks(each) for each in value]
    return repr(value)

answers = {}
for path in sys.argv[2:]:
    try:
        made = runpy.run_path(path)
        answers[path] = looks(made["CALLABLE"]()(*made["inputs"]()))
    except Exception:
        answers[path] = traceback.format_exc()
with open(sys.argv[1], "w") as file:
    json.dump(answers, file)
"""
