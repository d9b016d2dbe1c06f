"""What a fork server imports before its first rung leaves the program as it was."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.support import interpreter

ROOT = Path(__file__).parents[3]
PROGRAM = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import json, random, threading
import torch

def state():
    import torch._inductor.config as config
    return [
        threading.active_count(), config.compile_threads, torch.is_grad_enabled(),
        hash(str(random.getstate())), torch.random.get_rng_state().sum().item(),
        len(torch._dynamo.utils.counters), torch.get_default_dtype() == torch.float32,
    ]

torch.manual_seed(3)
random.seed(3)
import torch._dynamo
before = state()
from collectors.dynamo.compiler_modules import import_compiler
import_compiler(True)
after = state()
print(json.dumps([before, after, "torch._inductor.compile_fx" in sys.modules]))
"""


def test_importing_the_compiler_changes_nothing_that_a_call_could_see(tmp_path: Path) -> None:
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [interpreter.COLD, "-c", PROGRAM], capture_output=True, text=True, env=env, check=True
    )
    before, after, is_there = json.loads(done.stdout.splitlines()[-1])
    assert before == after and is_there
