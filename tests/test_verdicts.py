"""From a script to a verdict: the traps. Faults are made by backends of the scripts' own, so that each takes seconds."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from reporter.diagnose.explain import command
from reporter.diagnose.judge import judge
from reporter.diagnose.ladder import RUNGS
from reporter.diagnose.verdict import Diagnosis
from reporter.settings import Options
from tests.watched import watch

pytest.importorskip("torch", reason="scripts are run with this interpreter's torch")

HEAD = "import os, sys, time, pathlib, torch\nimport torch.nn.functional as F\nx = torch.ones(3)\n"


def verdict(text: str, folder: Path, timeout: float = 120.0) -> Diagnosis:
    recording = watch(HEAD + text, folder, timeout)
    try:
        return judge(recording, timeout / 2, lambda _: None)
    finally:
        recording.close()


def test_what_only_compiled_code_was_asked_for_but_eager_refuses_too_is_an_invalid_program(
    tmp_path: Path,
) -> None:
    found = verdict("torch.compile(lambda x: x @ torch.ones(4), backend='eager')(x)\n", tmp_path)
    assert (found.kind, found.layer, found.is_bug) == ("invalid_program", "eager", False)


def test_what_torch_compile_itself_does_not_survive_is_a_crash(tmp_path: Path) -> None:
    text = (
        "class Odd:\n    def __call__(self, x):\n        return x + 1\n"
        "    def __getattr__(self, name):\n"
        "        raise (RuntimeError if name.startswith('_torchdynamo') else AttributeError)(name)\n"
        "torch.compile(Odd(), backend='eager')(x)\n"
    )
    found = verdict(text, tmp_path)
    assert (found.kind, found.is_bug) == ("crash", True), found.summary


def test_a_swallowed_assertion_of_the_compiler_is_a_crash(tmp_path: Path) -> None:
    text = (
        "def backend(gm, inputs):\n    assert len(inputs) > 3\n"
        "try:\n    torch.compile(lambda x: x + 1, backend=backend)(x)\n"
        "except Exception as error:\n    print('never mind', error)\n"
    )
    found = verdict(text, tmp_path)
    assert (found.kind, found.layer) == ("crash", "backend")
    assert found.failure is not None and found.failure["exception"] == "AssertionError"
    assert found.reproduced[0] == found.reproduced[1] >= 3


def test_a_difference_that_is_only_printed_is_a_bug(tmp_path: Path) -> None:
    text = (
        "def backend(gm, inputs):\n    return lambda *a: tuple(o + 1 for o in gm(*a))\n"
        "print(torch.compile(lambda x: x * 2, backend=backend)(x))\n"
    )
    found = verdict(text, tmp_path)
    assert (found.kind, found.layer) == ("wrong_result", "backend")


def test_a_result_where_eager_raises_is_accepts_invalid(tmp_path: Path) -> None:
    text = (
        "def backend(gm, inputs):\n    return lambda *a: (torch.zeros(2, 2),)\n"
        "m = torch.tensor([[1.0, 2.0], [2.0, 1.0]])\n"
        "torch.compile(lambda m: torch.linalg.cholesky(m), backend=backend)(m)\n"
    )
    found = verdict(text, tmp_path)
    assert (found.kind, found.layer) == ("accepts_invalid", "backend")


@pytest.mark.parametrize("phase", ["compiling", pytest.param("running", marks=pytest.mark.slow)])
def test_a_hang_is_placed(phase: str, tmp_path: Path) -> None:
    place = "time.sleep(999)" if phase == "compiling" else "pass"
    text = (
        f"def backend(gm, inputs):\n    {place}\n    return lambda *a: time.sleep(999)\n"
        "torch.compile(lambda x: x + 1, backend=backend)(x)\n"
    )
    found = verdict(text, tmp_path, timeout=24.0)
    assert (found.kind, found.layer) == ("hang", "backend")
    assert found.place is not None and found.place.phase == phase
    assert all(frame.startswith("torch/") for frame in found.place.frames)


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ("raise ValueError('no')", "crash"),
        pytest.param("return lambda a: (a + 9,)", "wrong_result", marks=pytest.mark.slow),
    ],
)
def test_what_comes_of_a_slow_call_in_the_end_is_the_verdict(
    end: str, kind: str, tmp_path: Path
) -> None:
    """Watching, or another program beside it, may have made the script's own call too slow for its limit."""
    text = (
        "me = os.getpid()\n"
        f"def backend(gm, inputs):\n    time.sleep(999 * (os.getpid() == me))\n    {end}\n"
        "torch.compile(lambda x: x + 1, backend=backend)(x)\n"
    )
    found = verdict(text, tmp_path, timeout=12.0)
    assert (found.kind, found.layer) == (kind, "backend")
    assert found.reproduced[0] == found.reproduced[1]


@pytest.mark.parametrize(
    ("table", "layer", "left_out"),
    [
        ("lowering.lowerings", "inductor", {"eager", "aot_eager", "inductor"}),
        ("decomposition.decompositions", "decomposition", set()),
    ],
)
def test_where_one_compile_takes_long_no_rung_is_measured_in_vain(
    table: str, layer: str, left_out: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "import torch._inductor.lowering, torch._inductor.decomposition\n"
        "def refuse(*a, **k):\n    raise KeyError('no')\n"
        f"torch._inductor.{table}[torch.ops.aten.silu.default] = refuse\n"
        f"if 'lowerings' in {table!r}:\n"
        "    torch._inductor.decomposition.decompositions.pop(torch.ops.aten.silu.default)\n"
        "torch.compile(F.silu)(x)\n"
    )
    monkeypatch.setattr("reporter.diagnose.evidence.LONG", 0.0)
    found = verdict(text, tmp_path)
    assert (found.kind, found.layer) == ("crash", layer), found.summary
    assert found.reproduced[0] == found.reproduced[1] >= 2
    assert found.ladder is not None
    assert left_out == {"eager", "aot_eager", "inductor"} - set(found.ladder.rungs)


def test_the_kernel_that_a_compiler_refuses_is_named(tmp_path: Path) -> None:
    text = (
        "torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = 'compile_error'\n"
        "torch.compile(lambda x: (x.cumsum(0), F.relu(x @ x + 1)))(torch.ones(3, 3))\n"
    )
    found = verdict("import torch._inductor.config\n" + text, tmp_path)
    assert (found.kind, found.layer) == ("crash", "inductor"), found.summary
    assert found.failure is not None and found.failure["exception"] == "CppCompileError"
    (kernel,) = found.failure["kernels"]
    assert "_relu_" in kernel and "cumsum" not in kernel


def test_what_took_the_script_long_may_take_its_repetitions_longer(tmp_path: Path) -> None:
    text = (
        "me = os.getpid()\n"
        "def backend(gm, inputs):\n    time.sleep(6 if os.getpid() == me else 8)\n    raise ValueError('no')\n"
        "torch.compile(lambda x: x + 1, backend=backend)(x)\n"
    )
    found = verdict(text, tmp_path, timeout=13.0)
    assert (found.kind, found.layer) == ("crash", "backend"), found.summary


def test_a_death_says_how(tmp_path: Path) -> None:
    text = (
        "def backend(gm, inputs):\n    return lambda *a: os.abort()\n"
        "torch.compile(lambda x: x + 1, backend=backend)(x)\n"
    )
    found = verdict(text, tmp_path)
    assert (found.kind, found.layer) == ("process_death", "backend")
    assert "SIGABRT" in found.summary and found.place is not None


#: Fails on the runs that the expression names, `n` counting all runs of the compiled code from 0.
FLAKY = (
    "log = pathlib.Path(sys.argv[0]).with_name('runs')\n"
    "def backend(gm, inputs):\n"
    "    def run(*a):\n"
    "        with open(log, 'a') as out: out.write('x')\n"
    "        n = log.stat().st_size - 1\n"
    "        {fault}\n"
    "        return gm(*a)\n"
    "    return run\n"
    "print(torch.compile(lambda x: x + 1, backend=backend)(x))\n"
)


@pytest.mark.parametrize("fault", ["raise KeyError(n)", "return (gm(*a)[0] + 7,)"])
def test_a_flaky_failure_is_counted(fault: str, tmp_path: Path) -> None:
    found = verdict(FLAKY.format(fault=f"if n in (0, 4, 5): {fault}"), tmp_path)
    assert found.is_bug and found.layer == "backend"
    seen, of = found.reproduced
    assert 1 < seen < of and f"seen in {seen} of {of} runs" in found.summary


@pytest.mark.parametrize("fault", ["raise KeyError(n)", "return (gm(*a)[0] + 7,)"])
def test_what_never_comes_back_is_not_reproduced(fault: str, tmp_path: Path) -> None:
    found = verdict(FLAKY.format(fault=f"if n == 0: {fault}"), tmp_path)
    assert (found.kind, found.is_bug) == ("not_reproduced", False)
    assert found.reproduced[0] == 1 < found.reproduced[1]


@pytest.mark.parametrize(
    ("values", "kind"),
    [("[1.0, 5.0, 5.0]", "rounding"), ("[1.0, 5.0, 4.0]", "wrong_result")],
    ids=["tie", "no tie"],
)
def test_an_index_may_differ_where_values_tie(values: str, kind: str, tmp_path: Path) -> None:
    text = (
        "def backend(gm, inputs):\n    return lambda *a: tuple(torch.tensor(2) for o in gm(*a))\n"
        f"v = torch.tensor({values})\n"
        "out = torch.compile(lambda v: torch.argmax(v * 2, dim=0), backend=backend)(v)\n"
        "assert out == 1\n"
    )
    assert verdict(text, tmp_path).kind == kind


BACKWARD = """
class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, o):
        return o.clone()
    @staticmethod
    def backward(ctx, g):
        return 3 * g
def backend(gm, inputs):
    return lambda *a: tuple(Tripled.apply(o) for o in gm(*a))
net = torch.nn.Linear(3, 2)
f = torch.compile(net, backend=backend)
"""
LOSSES = {
    "outside": "F.mse_loss(f(x), torch.ones(2)).backward()",
    "accumulated": "for i in range(2): (f(x * i).sum() / 2).backward()",
    "scaled": "torch.amp.GradScaler('cpu').scale(f(x).square().sum()).backward()",
    "autograd.grad": "torch.autograd.grad(f(x).sum(), net.weight)",
    "later": "out = f(x)\nother = f(2 * x)\n(out - other).square().sum().backward()",
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_wrong_gradients_are_seen_however_the_script_uses_them(loss: str, tmp_path: Path) -> None:
    found = verdict(BACKWARD + loss + "\n", tmp_path)
    assert (found.kind, found.layer) == ("wrong_gradient", "backend")


def test_right_gradients_are_no_finding(tmp_path: Path) -> None:
    text = BACKWARD.replace("3 * g", "g") + LOSSES["outside"] + "\n"
    assert verdict(text, tmp_path).kind == "not_reproduced"


@pytest.mark.parametrize(
    ("before", "around"),
    [
        ("torch._dynamo.config.error_on_recompile = True\n", "True"),
        ("", "torch.compiler.set_stance('fail_on_recompile') if n else True"),
        ("torch._dynamo.config.fail_on_recompile_limit_hit = True\n", "True"),
    ],
)
def test_a_program_that_asks_torch_to_fail_on_recompiling_gets_what_it_asks_for(
    before: str, around: str, tmp_path: Path
) -> None:
    text = (
        "import torch._dynamo\ntorch._dynamo.config.recompile_limit = 1\n"
        if "limit" in before
        else "import torch._dynamo\n"
    )
    text += before + (
        "f = torch.compile(lambda x: x + 1, backend='eager', dynamic=False)\n"
        f"for n in range(3):\n    {around}\n    f(torch.ones(n + 3))\n"
    )
    found = verdict(text, tmp_path)
    assert (found.kind, found.layer, found.is_bug) == ("recompiles", "dynamo", False), found.summary
    assert "asks torch to fail" in found.summary


def test_an_option_this_release_lacks_is_an_invalid_program(tmp_path: Path) -> None:
    text = "torch.compile(lambda x: x + 1, options={'no_such_option_at_all': True})(x)\n"
    assert verdict(text, tmp_path).kind == "invalid_program"


def test_a_nondeterministic_program_is_no_bug(tmp_path: Path) -> None:
    text = (
        "def noisy(x):\n    return x + torch.tensor(float(int.from_bytes(os.urandom(2), 'big')))\n"
        "noisy = torch._dynamo.disable(noisy)\n"
        "torch.compile(lambda x: noisy(x) * 2, backend='eager')(x)\n"
    )
    assert verdict(text, tmp_path).kind == "nondeterministic"


EXCUSES = {
    "uninitialized_memory": "y = torch.empty(200, 200)\n    y[:, :3] = x\n    return y.sum(1)",
    "undefined_value": "return (x * torch.linspace(-900, 900, 3)).to(torch.int8)",
    "rounding": "return (wide * wide).mean(-1) - wide.mean(-1).square() + x.sum()",
    "precision_cast": "return torch.exp(torch.sin(half) * 3) * half - half.square()",
    "rng": "return F.dropout(wide, 0.5)",
    "nondeterministic": "return x + time.perf_counter() % 1",  # small, so that float32 can tell two moments apart
}


@pytest.mark.parametrize("kind", EXCUSES)
def test_what_excuses_a_difference_is_measured(kind: str, tmp_path: Path) -> None:
    text = (
        "torch.manual_seed(0)\nwide = torch.randn(64, 1000) + 10000\nhalf = torch.randn(256).half()\n"
        f"def program(x):\n    {EXCUSES[kind]}\n"
        "x = torch.tensor([0.31, 0.4567, 0.8])\n"
        "torch.manual_seed(1)\nexpected = program(x)\n"
        "torch.manual_seed(1)\nassert torch.equal(torch.compile(program)(x), expected)\n"
    )
    found = verdict(text, tmp_path)
    assert (found.kind, found.is_bug) == (kind, False), found.summary
    assert {"eager mode"} <= set(found.cited)
    assert ("eager itself is off" in found.summary) == (kind == "rounding")


@pytest.mark.parametrize(
    ("program", "kind"),
    [("torch.floor(x * 1)", "ill_conditioned"), ("x * 1 + 1", "wrong_result")],
)
def test_a_last_bit_excuses_what_it_moves_as_far(program: str, kind: str, tmp_path: Path) -> None:
    moved = "floor" in program
    change = "torch.nextafter(t, torch.zeros(3)) for t in a" if moved else "t + 1 for t in a"
    text = (
        "x = torch.tensor([1.0, 2.0, 3.0])\n"
        f"def backend(gm, inputs):\n    return lambda *a: gm(*[{change}])\n"
        f"print(torch.compile(lambda x: {program}, backend=backend)(x))\n"
    )
    assert verdict(text, tmp_path).kind == kind


@pytest.mark.parametrize(
    ("change", "kind"), [("i.flip(0), v.flip(0)", "undefined_value"), ("i, v + 9", "wrong_result")]
)
def test_two_writes_to_one_place_excuse_what_their_order_changes(
    change: str, kind: str, tmp_path: Path
) -> None:
    text = (
        "def program(y, i, v):\n    y = y.clone()\n    y[i] = v\n    return y\n"
        f"def backend(gm, inputs):\n    return lambda y, i, v: gm(y, {change})\n"
        "given = torch.zeros(4, 2), torch.tensor([1, 2, 1]), torch.arange(6.0).reshape(3, 2)\n"
        "print(torch.compile(program, backend=backend)(*given))\n"
    )
    found = verdict(text, tmp_path)
    assert found.kind == kind, found.summary
    if kind == "wrong_result":
        assert found.signature is not None and found.signature.undefined == ("writes",)


def test_the_command_of_a_verdict_can_be_typed() -> None:
    options = Options(script=Path("my train.py"), args=("--epochs", "1"))
    words = shlex.split(command(options, ("eager mode", "custom", "fresh compile")))
    named = words[words.index("--rungs") + 1].split(",")
    assert named == ["eager mode", "fresh compile"] and set(named) <= set(RUNGS)
    assert words[-3:] == ["my train.py", "--epochs", "1"]


OFF = "def backend(gm, inputs):\n    return lambda *a: tuple(o + 1 for o in gm(*a))\n"
TRIPLES = BACKWARD[: BACKWARD.index("net =")]
#: Wrong results that are not tensors which a call returns, or that something else in the call would excuse.
HIDDEN = {
    "array": OFF + "torch.compile(lambda v: (v * 2).numpy(), backend=backend)(x)",
    "object": OFF
    + "class Box:\n    def __init__(self, t):\n        self.t = t\n"
    + "torch.compile(lambda v: Box(v * 2), backend=backend)(x)",
    "float8": "def backend(gm, inputs):\n"
    "    return lambda *a: tuple((o.float() + 1).to(o.dtype) for o in gm(*a))\n"
    "torch.compile(lambda v: (v * 2).to(torch.float8_e4m3fn), backend=backend)(x)",
    "rebound buffer": OFF
    + "class Mean(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.register_buffer('mean', torch.zeros(3))\n"
    "    def forward(self, v):\n        self.mean = 0.9 * self.mean + 0.1 * v\n"
    "torch.compile(Mean(), backend=backend)(x)",
    "backward inside": TRIPLES + "w = torch.nn.Parameter(torch.ones(3))\ndef step(v):\n"
    "    (w * v).sum().backward()\ntorch.compile(step, backend=backend)(x)",
    "optimizer": "w = torch.nn.Parameter(torch.ones(3))\nw.grad = torch.ones(3)\n"
    "optimizer = torch.optim.SGD([w], lr=0.1)\n"
    "torch.compile(lambda: optimizer.step(), backend=lambda gm, i: lambda *a: (w.data.add_(5), gm(*a))[1])()",
    "other mode": "net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.0))\ndef backend(gm, inputs):\n"
    "    off = 0.0 if net.training else 1.0\n    return lambda *a: tuple(o + off for o in gm(*a))\n"
    "f = torch.compile(net, backend=backend)\nfor _ in range(10):\n    f(x)\nnet.eval()\nf(x)",
    "random": OFF
    + "torch.compile(lambda v: v + torch.exp(v) * torch.randn_like(v), backend=backend)(x)",
    "beside a cast": "def backend(gm, inputs):\n"
    "    return lambda *a: (lambda o: (o[0] + 1, o[1]))(gm(*a))\n"
    "torch.compile(lambda v: (v * 2, (v * 1e12).to(torch.int32)), backend=backend)(x)",
    "beside a threshold": "def backend(gm, inputs):\n"
    "    return lambda *a: (lambda o: (o[0] * 0, o[1] + 1))(gm(*a))\n"
    "torch.compile(lambda v: (torch.floor(v), torch.exp(v)), backend=backend)(x)",
}


@pytest.mark.parametrize("program", HIDDEN.values(), ids=HIDDEN)
def test_a_wrong_result_is_found_wherever_it_is(program: str, tmp_path: Path) -> None:
    found = verdict(program + "\n", tmp_path)
    assert found.is_bug and found.kind in ("wrong_result", "wrong_gradient"), found.summary


HARMLESS = {
    "batch norm in a loop": "net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))\n"
    "f = torch.compile(net, backend='aot_eager')\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
    "for _ in range(3):\n    opt.zero_grad()\n    f(torch.randn(8, 3)).square().mean().backward()\n    opt.step()",
    "counter": "class Count(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.n, self.seen = 0, []\n    def forward(self, v):\n        self.n += 1\n"
    "        self.seen.append(self.n)\n        return v * self.n + len(self.seen)\n"
    "f = torch.compile(Count(), backend='eager')\nfor i in range(3):\n    f(torch.ones(i + 2))",
    "lazy": "torch.compile(torch.nn.LazyLinear(2), backend='eager')(x)\n"
    "torch.compile(lambda v: v + 1, backend='eager')(x)",
    "options": "def pass_(graph): return None\n"
    "torch.compile(lambda v: v + 1, options={'joint_custom_post_pass': pass_})(x)",
    "seeded random": "import random\nrandom.seed(0)\n"
    "torch.compile(lambda v: v * random.random(), backend='eager')(x)",
}


@pytest.mark.parametrize("program", HARMLESS.values(), ids=HARMLESS)
def test_state_and_odd_inputs_raise_no_alarm(program: str, tmp_path: Path) -> None:
    recording = watch(HEAD + program + "\n", tmp_path)
    try:
        assert recording.exit == 0, recording.output
        assert judge(recording, 60.0, lambda _: None).kind == "not_reproduced"
    finally:
        recording.close()


def test_attention_without_dropout_draws_no_random_numbers(tmp_path: Path) -> None:
    text = (
        "def backend(gm, inputs):\n    return lambda *a: tuple(o + 1 for o in gm(*a))\n"
        "q = torch.randn(1, 2, 4, 8)\n"
        "attend = lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p={dropout})\n"
        "torch.compile(attend, backend=backend)(q)\n"
    )
    found = verdict(text.format(dropout=0.0), tmp_path)
    assert found.kind == "wrong_result"
    assert found.ladder is not None and not found.ladder.facts["random"]
    (tmp_path / "drawn").mkdir()
    drawn = verdict(text.format(dropout=0.5), tmp_path / "drawn")
    assert drawn.ladder is not None and drawn.ladder.facts["random"]


def test_numpy_draws_its_own_random_numbers(tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    text = (
        "import numpy as np\nnp.random.seed(0)\n"
        "torch.compile(lambda v: v + torch.from_numpy(np.random.randn(3)), backend='eager')(x)\n"
    )
    assert verdict(text, tmp_path).kind == "rng"


def test_a_late_call_of_a_failing_script_is_looked_at_too(tmp_path: Path) -> None:
    script = tmp_path / "late.py"
    script.write_text(
        "import torch\nruns = []\ndef backend(gm, inputs):\n    def run(*a):\n        runs.append(0)\n"
        "        return tuple(o + (len(runs) > 10) for o in gm(*a))\n    return run\n"
        "f = torch.compile(lambda v: v * 2, backend=backend)\n"
        "for i in range(11):\n    out = f(torch.ones(3))\nassert out.sum() == 6\n"
    )
    command = [sys.executable, "-m", "reporter", "diagnose", "--json", "--no-input"]
    done = subprocess.run(
        [*command, "--python", sys.executable, str(script)], capture_output=True, text=True
    )
    found = json.loads(done.stdout)["verdict"]
    assert (found["kind"], found["layer"]) == ("wrong_result", "backend"), done.stderr
    assert "once more, all of them" in done.stderr
