"""Torch's guard texts without the user's names."""

from __future__ import annotations

import pytest
import torch

from collectors.call import context, rungs
from collectors.dynamo import guard_words

GUARDS = {
    "L['x'].size()[1] == 5": ("argument 0.size()[1] == 5", False),
    "tensor 'L['x']' size mismatch at index 0. expected 4, actual 5": (
        "tensor argument 0 size mismatch at index 0. expected 4, actual 5",
        False,
    ),
    "tensor 'x' dtype mismatch. expected Float, actual Double": (
        "tensor argument 0 dtype mismatch. expected Float, actual Double",
        False,
    ),
    "L['rest'][1].size()[0] == L['x'].size()[0]": (
        "argument 3.size()[0] == argument 0.size()[0]",
        False,
    ),
    "L['self'].secret_scale == 3": ("the module.… == 3", False),
    "L['mode'] == 'secret'": ("argument 1 ==", True),
    "G['SECRET'].value == 3": ("a global value == 3", False),
    "secret_check(L['x'])": ("", True),
    "L['x'] == 0.731": ("argument 0 ==", True),
    "2 <= L['unknown'].size()[0]": ("2 <= a local value.size()[0]", False),
}


@pytest.mark.parametrize("text", GUARDS)
def test_guard_texts_keep_no_word_of_the_users(text: str) -> None:
    class Net(torch.nn.Module):
        def forward(self, x: object, mode: str, *rest: object) -> None: ...

    call = rungs.RecordedCall(Net(), None, (), {}, rungs.CallConditions({}, context.read_state()))
    assert guard_words.publish(text, guard_words.label_parameters(call)) == GUARDS[text]
