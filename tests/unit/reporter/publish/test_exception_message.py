"""The line of an exception that stands in the title and beside "Actual"."""

from __future__ import annotations

import pytest

from reporter.publish.exception_message import shorten_message

_LIST = (
    'Constraints violated (d0)! For more information, run with TORCH_LOGS="+dynamic".\n'
    "  - Not all values of d0 satisfy the generated guard d0 != 1.\n"
    "  - Not all values of d1 satisfy the generated guard d1 != 1."
)


_FAKE_CALL = (
    "RuntimeError when making fake tensor call\n"
    "  Explanation: Dynamo failed to run FX node with fake"
    " tensors: call_function mul(*(a, b), **{}): got RuntimeError('Attempting to broadcast a"
    " dimension of length 2 at -2!')\n  Hint: Your code may result in an error."
)
#: Under a transform of torch.func each of its levels has a line.
_FAKE_CALL_OF_LEVELS = _FAKE_CALL.replace(
    "(*(a, b)", "(*([BatchedTensor(lvl=1, value=\n   a\n)], b)"
)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("a dtype that is not known\n  - and a list", "a dtype that is not known"),
        (
            "Failed running call_function <built-in method conv1d>(*(FakeTensor(...)), **{}):\n"
            "conv1d() received an invalid combination of arguments\n * (Tensor input)",
            "conv1d() received an invalid combination of arguments",
        ),
        ("it fails. Set TORCHDYNAMO_VERBOSE=1 for the stack", "it fails."),
        (
            _LIST,
            "Constraints violated (d0)!"
            " Not all values of d0 satisfy the generated guard d0 != 1.",
        ),
        (
            _FAKE_CALL,
            "RuntimeError when making fake tensor call: Attempting to broadcast a dimension of"
            " length 2 at -2!",
        ),
        (
            _FAKE_CALL_OF_LEVELS,
            "RuntimeError when making fake tensor call: Attempting to broadcast a dimension of"
            " length 2 at -2!",
        ),
        ("Found these faults:\n  - one\n  - two", "Found these faults: one"),
    ],
)
def test_a_message_is_what_is_wrong_and_no_advice(message: str, said: str) -> None:
    failure = {"message": message, "first_line": message.split("\n")[0]}
    assert shorten_message(failure) == said
