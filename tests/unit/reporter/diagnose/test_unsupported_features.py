"""Which messages of torch state a limit."""

from __future__ import annotations

import pytest

from collectors.protocol.failure import Failure
from reporter.diagnose.unsupported_features import states_limit


def failure(message: str, exception: str = "LoweringException") -> Failure:
    return {
        "exception": exception,
        "chain": [exception],
        "message": message,
        "first_line": message.splitlines()[0],
        "frames": [],
        "innermost_is_torch": True,
        "traceback": "",
        "kernels": [],
    }


@pytest.mark.parametrize(
    "message",
    [
        "torch.compile with aot_autograd does not currently support double backward",
        "NotImplementedError: Unsupported for now if query, key, value are the same buffer.\n"
        "  target: flex_attention",
        "Using multiple indexing operations on the same tensor that requires gradients in a"
        " score_mod function is not currently supported. ",
        "`torch.float` and `torch.bfloat16` are supported in FlexAttention for CPU device. ",
    ],
)
def test_what_torch_says_that_it_does_not_support_is_a_limit(message: str) -> None:
    assert states_limit(failure(message))
    assert not states_limit(failure(f"{message}\nHint: This is likely to be a Dynamo bug."))


@pytest.mark.parametrize(
    "message",
    [
        "AttributeError: 'NoneType' object has no attribute 'get_size'\n  target: aten.sum",
        "NotImplementedError: unrealized as_strided(TensorBox, ...)",
        "Unsupported fallback aten.foo with type <class 'str'>",
    ],
)
def test_any_other_exception_is_a_fault(message: str) -> None:
    assert not states_limit(failure(message))


def test_what_dynamo_refuses_is_a_limit_whatever_it_says() -> None:
    assert states_limit(failure("no", "Unsupported"))
