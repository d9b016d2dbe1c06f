"""What makes a process warm without making a candidate's result depend on it."""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import shutil
import warnings
from typing import Any

from ..call import bisection
from ..dynamo.compiler_modules import import_compiler
from ..protocol.repro_words import needs_cache
from . import candidate, cpp_prefix

#: What has been done where no backend has compiled anything.
IMPORT = "import"
_SEED = 0
#: torch's caches of what was compiled, by the module that switches them.
_CACHES = (
    ("torch._inductor.config", "autotune_local_cache"),
    ("torch._inductor.config", "fx_graph_cache"),
    ("torch._functorch.config", "enable_autograd_cache"),
)


def warm_up(backend: str) -> str:
    """Import torch and compile something small; returns the backend that worked, or `import`.

    With `import` nothing is compiled: a compile uses the GPU of a machine that has one, and forks
    of a process that did so cannot.

    Nothing that requires a gradient: even tracing a backward pass starts threads in some releases
    (2.15), and autograd refuses to work in the forks of a process that has them.
    """
    import torch
    import torch._dynamo

    if not hasattr(torch, "compile"):
        return IMPORT
    if backend == IMPORT:
        import_compiler(inductor=True, compiles_checks=True)
        return IMPORT
    torch.manual_seed(_SEED)
    _keep_headers()
    order = [backend] if shutil.which("g++") or backend != "inductor" else []
    for name in [*order, "aot_eager", "eager"]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with cpp_prefix.record_commands() as commands:
                    compiled = torch.compile(lambda a, b: (a * b).relu().sum(), backend=name)
                    compiled(torch.ones(64, 64), torch.ones(64, 64))
                cpp_prefix.precompile(
                    commands, os.environ.get("TORCHINDUCTOR_CACHE_DIR", "/dev/null")
                )
                with contextlib.suppress(Exception):  # it only makes candidates faster
                    _compile_more(name)
            break
        except Exception:  # whatever a backend lacks, the next one may have it
            torch._dynamo.reset()
            name = IMPORT
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    bisection.forget_decompositions()
    torch.manual_seed(_SEED)
    return name


def _compile_more(backend: str) -> None:
    """Compile programs that reach what the compiler imports and builds at its first use: half to
    three quarters of the Python time of a small compile, which each fork would spend anew.
    """
    import torch

    with contextlib.suppress(ImportError):
        importlib.import_module("networkx")  # for the cut between forward and backward
    with contextlib.ExitStack() as stack:
        for module, name in _CACHES:
            config = importlib.import_module(module)
            if hasattr(config, name):  # what a cache knows is not compiled
                stack.enter_context(config.patch(name, False))
        numbers = torch.arange(64.0).reshape(4, 16)
        layers = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.LayerNorm(8)).eval()
        with torch.no_grad():
            torch.compile(layers, backend=backend)(numbers)
            torch.compile(_attend, backend=backend)(numbers, numbers.long())
            torch._dynamo.reset()
            torch.compile(_resize, backend=backend, dynamic=True)(numbers)


def _attend(x: Any, index: Any) -> Any:
    """Reductions, views, indices and another dtype, by names of torch as a program has them."""
    import torch

    y = torch.softmax(x @ x.transpose(0, 1), dim=-1).unsqueeze(0).reshape(-1)
    z = torch.cat([torch.min(x.to(torch.uint8), 1).values, index[:, 1::2].sum(1)])
    return torch.where(y > 0.5, y, 0), z.cumsum(0), x.gather(1, index % 16)


def _resize(x: Any) -> Any:
    """Sizes that are symbols."""
    return x.reshape(x.size(1), x.size(0))[1:].mean(0).expand(x.size(1) // 2, -1) + x.size(0)


def begin_device() -> None:
    """Use the GPU for the first time in this process, if there is one."""
    import torch

    if torch.cuda.is_available():
        torch.zeros(1, device="cuda")


def _keep_headers() -> None:
    """Precompile torch's C++ headers into this process's own cache, where the host knows whether
    they are complete.

    torch has one place for them for all of a user's programs; half a file that we left there would
    break them all.
    """
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    with contextlib.suppress(ImportError):
        importlib.import_module("torch._inductor.codecache")
        if folder:
            candidate.enter_cache(folder)


def settle(text: str) -> None:
    """Make a candidate, a `text`, independent of other compilations, of helper processes and of
    chance. Since torch 2.13 settings belong to a thread: call it in the one that runs the text.

    A fresh interpreter seeds its generators from the system; a search has to give the same result
    twice. A text whose failure is the cache's has torch's caches, in a folder of its own.
    """
    import torch
    import torch._inductor.config as inductor

    torch.manual_seed(_SEED)
    random.seed(_SEED)
    inductor.compile_threads = 1
    if needs_cache(text):
        candidate.enter_cache(os.path.join(os.getcwd(), "cache"), with_headers=False)
        return
    for module, name in _CACHES:
        config = importlib.import_module(module)
        if hasattr(config, name):
            setattr(config, name, False)
