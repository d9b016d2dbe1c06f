"""The proof for rewritten sources: it holds for programs that are the same, and for none that is another."""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anonymizer.source import SourceError, rebuild
from reporter.errors import CannotJudgeError
from reporter.rewritten import Rewritten
from reporter.whole_source import proved, request
from tests.round_trips import in_a_fork
from tests.source_scripts import LIBRARY, SCRIPTS
from tests.test_hostile_models import CANARY, CASES

pytest.importorskip("torch", reason="the user's interpreter needs torch")

STATES = """
import dataclasses, functools
import torch
from torch import nn

LAYERS = {"first": nn.Linear(4, 4), 2: [nn.Parameter(torch.randn(4))]}

@dataclasses.dataclass
class Batch:
    tokens: torch.Tensor
    weights: list

class Scaled(nn.Linear):
    def __init__(self):
        super().__init__(4, 4)
        self.gain = nn.Parameter(torch.randn(4))

    def forward(self, x):
        return super().forward(x) * self.gain

class Stack(nn.Sequential):
    pass

class Model(nn.Module):
    table = torch.randn(4)

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.stack = Stack(Scaled(), nn.Tanh(), Scaled())
        self.named = nn.ModuleDict({"inner": nn.Linear(4, 4)})
        self.several = nn.ParameterList([torch.randn(4), torch.randn(4)])
        self.register_buffer("seen", torch.zeros(()))
        self.loose = torch.randn(4)
        self.drop = nn.Dropout(0.5)

    def forward(self, batch, shift=torch.randn(4)):
        self.seen += 1
        x = self.norm(batch.tokens) * batch.weights[0] + self.table + shift
        x = self.named["inner"](self.drop(self.stack(x)))
        x = LAYERS["first"](x) + LAYERS[2][0] * self.several[1] + self.several[0] + self.loose
        return functools.partial(torch.add, x)(self.seen), x.argmax(-1)

ENTRY = Model()
ARGS = (Batch(torch.randn(5, 4), [torch.randn(4, requires_grad=True)]),)
"""


@functools.cache
def words() -> Any:
    """torch's own, and what each fork would import anew."""
    import torch._dynamo  # noqa: F401

    from collectors import source_equivalence, vocabulary  # noqa: F401

    return vocabulary.vocabulary()


def compared(
    folder: Path, script: str, change: Callable[[dict[str, Any]], None] = lambda _: None
) -> dict[str, Any]:
    """How the rewriting of a script, its request changed by `change`, compares with the script."""
    (folder / "secret_library").mkdir()
    (folder / "secret_library" / "__init__.py").write_text("")
    (folder / "secret_library" / "secret_tools.py").write_text(LIBRARY)
    (folder / "private.py").write_text(script, encoding="utf-8")

    def make() -> dict[str, Any]:
        import runpy
        import sys

        sys.path.insert(0, str(folder))
        return runpy.run_path(str(folder / "private.py"))

    return answer(make, change)["found"]  # type: ignore[no-any-return]


def answer(
    make: Callable[[], dict[str, Any]], change: Callable[[dict[str, Any]], None] = lambda _: None
) -> dict[str, Any]:
    """`{"text", "problems", "found"}` for what `make` returns: ENTRY, ARGS, perhaps KWARGS and BACKEND."""
    public = words()

    def work() -> Any:
        import torch

        from collectors import context, rungs, source, source_equivalence, source_kinds

        torch.manual_seed(0)
        made = make()
        entry = source_kinds.original(made["ENTRY"])
        options = {"backend": made["BACKEND"]} if "BACKEND" in made else {}
        call = rungs.Call(
            entry, None, made["ARGS"], made.get("KWARGS", {}), options, [], context.capture(), {}
        )

        def gather() -> Any:
            return source.gather(call.function, call.args, call.kwargs, options.get("backend"))

        try:
            program = rebuild(in_a_fork(gather), public)
        except SourceError as reason:
            return {"text": "", "problems": [str(reason)], "found": None}
        with tempfile.TemporaryDirectory() as name:
            asked = request(Rewritten(program), name + "/values.pt")
            change(asked)
            found = source_equivalence.check(call, asked)
        return {"text": asked["text"], "problems": program.problems, "found": found}

    made: dict[str, Any] = in_a_fork(work)
    return made


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_rewritten_source_is_proved(name: str, tmp_path: Path) -> None:
    found = compared(tmp_path, SCRIPTS[name])
    assert found["outcome"] == "ok", found["detail"]
    # one calls autograd.grad by itself and returns what it gives
    back = "not compared" if name == "operators" else "bitwise"
    parts = [found[part]["how"] for part in ("outputs", "gradients", "buffers")]
    assert parts == ["bitwise", back, "bitwise"]
    assert found["operators"]["same"]


def test_every_tensor_is_found_wherever_the_program_keeps_it(tmp_path: Path) -> None:
    found = compared(tmp_path, STATES)
    assert found["outcome"] == "ok", found["detail"]
    proof = proved({"equivalence": found})
    assert proof["outputs"] == {"how": "bitwise", "count": 2, "max_abs_error": 0.0}
    assert proof["buffers"]["how"] == proof["gradients"]["how"] == "bitwise"
    assert proof["gradients"]["count"] > 20


STEP = """
import torch
from torch import nn

model = nn.Linear(3, 3)
model(torch.ones(2, 3)).sum().backward()  # there are gradients before the step

def step(x):
    loss = model(x).pow(2).sum()
    loss.backward()
    return loss

ENTRY = step
ARGS = (torch.randn(2, 3),)
"""


def test_gradients_of_a_call_that_goes_back_by_itself_are_those_it_leaves(tmp_path: Path) -> None:
    found = compared(tmp_path, STEP)
    assert found["outcome"] == "ok", found["detail"]
    assert found["gradients"]["how"] == "bitwise"


def test_other_gradients_left_behind_are_no_proof(tmp_path: Path) -> None:
    def doubled(asked: dict[str, Any]) -> None:
        assert ".backward()" in asked["text"]
        asked["text"] = asked["text"].replace(".backward()", ".mul(2).backward()")

    found = compared(tmp_path, STEP, doubled)
    assert found["outcome"] == "ok" and found["outputs"]["how"] == "bitwise"
    assert found["gradients"]["how"] == "differ"


def swapped(asked: dict[str, Any]) -> None:
    assert "torch.add" in asked["text"]
    asked["text"] = asked["text"].replace("torch.add", "torch.sub")


def detached(asked: dict[str, Any]) -> None:
    assert "self.norm" not in asked["text"]
    asked["text"] = asked["text"].replace("[0] + self.", "[0].detach() + self.", 1)


def uncounted(asked: dict[str, Any]) -> None:
    assert " += 1" in asked["text"]
    asked["text"] = asked["text"].replace(" += 1", " += 2")


@pytest.mark.parametrize("change", [swapped, detached, uncounted])
def test_another_program_is_not_proved(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    found = compared(tmp_path, STATES, change)
    assert found["outcome"] == "ok", found["detail"]
    with pytest.raises(CannotJudgeError, match="not equivalent"):
        proved({"equivalence": found})


def test_a_tensor_that_stands_for_none_is_no_proof(tmp_path: Path) -> None:
    def forgotten(asked: dict[str, Any]) -> None:
        asked["tensors"] = [pair for pair in asked["tensors"] if pair[0] != "given[0].attr1"][:-1]

    found = compared(tmp_path, STATES, forgotten)
    assert found["outcome"] == "raises"
    with pytest.raises(CannotJudgeError, match="stand for none of the call's"):
        proved({"equivalence": found})


#: What source mode refuses, or what is refused since it is not the same: these pretend by what no class of theirs says.
_REFUSED = {
    "a module of torch, it says",
    "a forward of its own",
    "made by exec",
    "named like torch",
    "one letter",
}


@pytest.mark.parametrize("case", CASES)
def test_pretenders(case: str) -> None:
    import torch

    made = answer(lambda: {"ENTRY": CASES[case](), "ARGS": (torch.randn(3, 4),)})
    assert not re.search(CANARY, made["text"], re.IGNORECASE)
    found = made["found"]
    same = found["outcome"] == "ok" and found["outputs"]["how"] == "bitwise"
    assert (same and not made["problems"]) == (case not in _REFUSED), made
