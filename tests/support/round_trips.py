"""Models through the rewriter and back: traced, written as public code, and compared with the original by running both."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anonymizer import model, traced, values
from collectors.standby import fork_from_fresh_thread
from reporter.whole import text_of


@dataclass(frozen=True)
class Rewriting:
    """A rewritten model: its text, the trace that it was made from, and how it compares with the original."""

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
    """What a function returns, computed in a process of its own, as the tool computes in forks of the user's process."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "answer.json"
        pid = fork_from_fresh_thread(lambda: path.write_text(json.dumps(body())) and None)
        os.waitpid(pid, 0)
        assert path.exists(), "the process failed; see its traceback"
        return json.loads(path.read_text())


def rewriting(make: Callable[[], tuple[Any, ...]], training: bool = False) -> Rewriting:
    """Rewrites what `make` returns: a callable, its arguments, and perhaps its keyword arguments."""
    import torch._dynamo
    import torch.utils.checkpoint  # noqa: F401

    def work() -> dict[str, Any]:
        import torch

        from collectors import context, equivalence, rungs, trace

        torch.manual_seed(0)
        function, args, *more = make()
        if isinstance(function, torch.nn.Module):
            function.train(training)
        call = rungs.Call(
            function, None, args, more[0] if more else {}, {}, [], context.capture(), {}
        )
        traces: list[Any] = []

        def traced_elsewhere() -> None:
            with open(folder + "/trace.json", "w") as file:
                json.dump(trace.trace(call, {})["trace"], file)

        folder = tempfile.mkdtemp()
        os.waitpid(fork_from_fresh_thread(traced_elsewhere), 0)
        with open(folder + "/trace.json") as file:
            traces.append(json.load(file))
        program = traced.program(traces[0], values.recipe_for("plain"))
        written = model.write(program)
        text = text_of(written.body)
        stock = {entry["id"] for entry in traces[0]["modules"] if entry["stock"]}
        request = {
            "text": text,
            "callable": written.body.callable,
            "mapping": dict(written.mapping),
            "arguments": list(written.arguments),
            "layers": {path: n for path, n in written.blocks.items() if n in stock},
            "training": written.training,
            "stand_ins": list(written.operators),
            "file": folder + "/values.pt",
        }
        found = equivalence.check(call, request)
        return {"text": text, "trace": traces[0], "equivalence": found}

    return Rewriting(**in_a_fork(work))
