"""Sample inputs of torch's own operator tests, each operator held against itself in float64 by the
rule for programs in eager mode.

    python bench/operators.py [--most N]

Needs `expecttest` beside torch, as torch's tests do. The samples are those of `op_db`
(`torch/testing/_internal/common_methods_invocations.py`), N of each operator and dtype. Torch's
tests pass with them, so that what the rule calls wrong is a false alarm or a bug that these tests
do not see. Prints the calls, what is called wrong, and how many results only rounding explains.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch

from collectors.call.operators.measurement import OperatorMeasurement

DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def list_calls(operator: Any, dtype: torch.dtype, most: int) -> Iterator[tuple[Any, ...]]:
    """The arguments of an operator's first samples; none where it does not take the dtype."""
    if dtype not in operator.supported_dtypes("cpu"):
        return
    with contextlib.suppress(Exception):  # a sample that needs what this machine lacks
        for sample in islice(operator.sample_inputs("cpu", dtype), most):
            yield (sample.input, *sample.args), sample.kwargs


def main() -> None:
    """Prints one line for each operator that is called wrong, and the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, default=2, help="samples of an operator and dtype")
    options = parser.parse_args()
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    started, calls, rounded, ill = time.monotonic(), 0, 0, 0
    wrong: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for operator in op_db:
            for dtype in DTYPES:
                for args, named in list_calls(operator, dtype, options.most):
                    torch.manual_seed(0)
                    measurement = OperatorMeasurement(f"{folder}/facts.json", lambda: 0)
                    with contextlib.suppress(Exception), torch.no_grad(), measurement:
                        operator(*args, **named)
                    facts = measurement.collect_facts()
                    calls, rounded = calls + 1, rounded + facts["rounded"]
                    ill += bool(facts["ill"])
                    name = f"{operator.name}, {str(dtype).removeprefix('torch.')}"
                    wrong[name] += bool(facts["wrong"])
    for name, count in wrong.items():
        if count:
            print(f"wrong: {name} ({count})")
    print(
        f"{calls} calls in {time.monotonic() - started:.0f} s: {wrong.total()} called wrong,"
        f" {ill} ill-conditioned, {rounded} results rounded"
    )


if __name__ == "__main__":
    main()
