"""What makes a process warm without making a candidate's result depend on it."""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import shutil
import warnings

from ..call import bisection
from . import candidate, cpp_prefix

_SEED = 0
#: What a text says whose failure is the cache's (`anonymizer.graph.repro.CACHED`).
_CACHE_ON = "torch._inductor.config.fx_graph_cache = True"


def warm_up(backend: str) -> str:
    """Import torch and compile something small; returns the backend that worked, or `import`.

    Nothing that requires a gradient: even tracing a backward pass starts threads in some releases
    (2.15), and autograd refuses to work in the forks of a process that has them.
    """
    import torch
    import torch._dynamo

    if not hasattr(torch, "compile"):
        return "import"
    torch.manual_seed(_SEED)
    _keep_headers()
    order = [backend] if shutil.which("g++") or backend != "inductor" else []
    for name in [*order, "aot_eager", "eager"]:
        try:
            with warnings.catch_warnings(), cpp_prefix.record_commands() as commands:
                warnings.simplefilter("ignore")
                compiled = torch.compile(lambda a, b: (a * b).relu().sum(), backend=name)
                compiled(torch.ones(64, 64), torch.ones(64, 64))
            cpp_prefix.precompile(commands, os.environ.get("TORCHINDUCTOR_CACHE_DIR", "/dev/null"))
            break
        except Exception:
            torch._dynamo.reset()
            name = "import"
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    bisection.forget_decompositions()
    torch.manual_seed(_SEED)
    return name


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
    import torch._functorch.config as functorch
    import torch._inductor.config as inductor

    torch.manual_seed(_SEED)
    random.seed(_SEED)
    inductor.compile_threads = 1
    if _CACHE_ON in text:
        candidate.enter_cache(os.path.join(os.getcwd(), "cache"), with_headers=False)
        return
    caches = ((inductor, "autotune_local_cache"), (inductor, "fx_graph_cache"))
    for config, name in (*caches, (functorch, "enable_autograd_cache")):
        if hasattr(config, name):
            setattr(config, name, False)
