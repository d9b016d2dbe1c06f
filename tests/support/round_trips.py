"""Models through the rewriter and back: traced, written as public code, and compared with the
original by running both.

All of it happens in forks of this process, as the tool works in forks of the user's. So torch is
imported here once, and what is there then is frozen for the garbage collector: a fork that looks at
every object, as the tracer does, would copy most of the memory otherwise. Tensors that a test
module makes later are seen as those of any other program.
"""

from __future__ import annotations

import gc
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch._dynamo
import torch.utils.checkpoint

from anonymizer.graph import recipes
from anonymizer.model import model
from anonymizer.trace import reading
from collectors.call import context, rungs
from collectors.call.forks import fork_from_fresh_thread
from collectors.trace import equivalence, trace
from reporter.whole_model.traced_model import write_model

gc.collect()
gc.freeze()


@dataclass(frozen=True)
class Rewriting:
    """A rewritten model: its text, the trace that it was made from, and how it compares with the
    original.
    """

    text: str
    trace: dict[str, Any]
    equivalence: dict[str, Any]

    @property
    def same(self) -> bool:
        """Whether values, gradients, buffers and operators are the same, bit by bit."""
        found = self.equivalence
        parts = [found[name]["how"] for name in ("outputs", "gradients", "buffers")]
        return parts == ["bitwise"] * 3 and bool(found["operators"]["same"])


def in_a_fork(body: Callable[[], Any]) -> Any:
    """What a function returns, computed in a process of its own, as the tool computes in forks of
    the user's process.
    """
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "answer.json"
        pid = fork_from_fresh_thread(lambda: path.write_text(json.dumps(body())) and None)
        os.waitpid(pid, 0)
        assert path.exists(), "the process failed; see its traceback"
        return json.loads(path.read_text())


def call_of(made: tuple[Any, ...], options: dict[str, Any] | None = None) -> rungs.RecordedCall:
    """A callable with its arguments, and perhaps its keyword arguments, as a recorded call."""
    function, args, *more = made
    kwargs = more[0] if more else {}
    conditions = rungs.CallConditions(options or {}, context.read_state())
    return rungs.RecordedCall(function, None, args, kwargs, conditions)


def rewriting(
    make: Callable[[], tuple[Any, ...]],
    training: bool = False,
    change: Callable[[str], str] = lambda text: text,
    empty_caches: bool = False,
) -> Rewriting:
    """Rewrites what `make` returns: a callable, its arguments, and perhaps its keyword arguments.

    `change` makes another program of the rewritten text, for tests that ask whether this is
    noticed. `empty_caches`: the trace is made with empty caches under `functools.lru_cache`.
    """

    def work() -> dict[str, Any]:
        torch.manual_seed(0)
        call = call_of(make())
        if isinstance(call.function, torch.nn.Module):
            call.function.train(training)
        way = {"look_inside": True, "empty_caches": empty_caches}
        document = in_a_fork(lambda: trace.trace(call, {"way": way})["trace"])
        written = model.write(reading.read_program(document, recipes.make_recipe_chooser("plain")))
        text = change(write_model(written.body))
        stock = {entry["id"] for entry in document["modules"] if entry["stock"]}
        with tempfile.TemporaryDirectory() as folder:
            request = {
                "text": text,
                "callable": written.body.callable,
                "mapping": dict(written.counterparts.tensors),
                "arguments": list(written.arguments),
                "layers": {
                    path: n for path, n in written.counterparts.modules.items() if n in stock
                },
                "training": written.training,
                "stand_ins": list(written.counterparts.operators),
                "way": way,
                "file": folder + "/values.pt",
            }
            found = equivalence.prove_equivalence(call, request)
        return {"text": text, "trace": document, "equivalence": found}

    return Rewriting(**in_a_fork(work))
