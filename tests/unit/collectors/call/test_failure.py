"""The line of a message that names the problem, where the message begins with a place of generated
code.
"""

from __future__ import annotations

from typing import Any

import pytest

from collectors.call.failure import GENERATED, GRAPH_CODE, _list_frames, find_key_line

KERNEL = """at 8:11:
def triton_poi_fused_relu_0(in_ptr0, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    x0 = tl.arange(0, XBLOCK)
    tmp1 = tl.maximum(tmp0, 0)
           ^
NameError('tmp0 is not defined')"""

SUBPROCESS = """An exception occurred in a subprocess:

Name=triton_poi_fused_relu_0
Traceback (most recent call last):
  File "/opt/torch/_inductor/compile_worker/subproc_pool.py", line 400, in do_job
    result = job()
ValueError: first

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/triton/compiler/code_generator.py", line 1507, in ast_to_ttir
    raise
"""


@pytest.mark.parametrize(
    ("message", "line"),
    [
        (
            "Failed to import /tmp/c/c5hq.py\nSyntaxError: invalid syntax (c5hq.py, line 28)",
            "SyntaxError: invalid syntax",
        ),
        (KERNEL, "NameError('tmp0 is not defined')"),
        (
            SUBPROCESS + "triton.compiler.errors.CompilationError: " + KERNEL + "\n",
            "NameError('tmp0 is not defined')",
        ),
        (
            SUBPROCESS + "torch._inductor.exc.TritonMissing: none\nRuntimeError: no driver",
            "no driver",
        ),
        ("An exception occurred in a subprocess:", "An exception occurred in a subprocess:"),
        ("Failed to import", "Failed to import"),
        ("at 2:4:\ndef kernel(x):\n    y = tl.load(x)\n    ^\n", "at 2:4:"),
        (
            "CUDA error: device-side assert triggered\nmore",
            "CUDA error: device-side assert triggered",
        ),
    ],
)
def test_the_problem_is_named_and_not_the_place(message: str, line: str) -> None:
    assert find_key_line(message) == line


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("<eval_with_key>.3", GRAPH_CODE),
        ("/tmp/x/c" + "a" * 51 + ".py", GENERATED),
        ("/opt/torch/nn/functional.py", "torch/nn/functional.py"),
        ("/home/me/model.py", ""),
    ],
)
def test_the_code_of_a_graph_is_torchs(file: str, name: str) -> None:
    """What an operator says that it calls would else count as words of the program's own."""
    names: dict[str, Any] = {}
    exec(compile("def forward():\n    raise RuntimeError", file, "exec"), names)
    with pytest.raises(RuntimeError) as raised:
        names["forward"]()
    last = _list_frames(raised.value, "/opt/torch/")[-1]
    assert (last["file"], last["torch"]) == (name or file, bool(name))
