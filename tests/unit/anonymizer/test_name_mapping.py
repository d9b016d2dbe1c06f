"""What a maintainer says of the public repro comes back in the user's own words, and what is
ambiguous stays.
"""

from __future__ import annotations

import pytest

from anonymizer.name_mapping import NameMapping

NAMES = NameMapping(
    names={"helper1": "mix_rows"},
    classes={"Block1": ["Gate"], "Block2": ["Up", "Down"], "Block3": ["Tower"]},
    modules={"": "", "blocks1.0": "stack.0", "blocks1.0.linear1": "stack.0.up", "linear1": "head"},
    tensors={"blocks1.0.linear1.weight": "stack.0.up.weight", "blocks1.0.weight1": "stack.0.tau"},
    attributes={
        "Block1": {"linear1": ["up"], "weight1": ["tau"]},
        "Block3": {"linear1": ["left", "right"]},
    },
)


@pytest.mark.parametrize(
    "public, private",
    [
        ("the bug is in Block1.", "the bug is in Gate."),
        ("Block2 is two classes", "Block2 is two classes"),
        ("look at Block1.linear1.weight", "look at Gate.up.weight"),
        ("model.blocks1[0].linear1.weight", "model.stack.0.up.weight"),
        ("L['self'].blocks1.0.weight1", "L['self'].stack.0.tau"),
        ("call helper1(x) and torch.helper1", "call mix_rows(x) and torch.mix_rows"),
        ("linear12 and myBlock1 are others", "linear12 and myBlock1 are others"),
        ("self.linear1 of the whole model", "self.head of the whole model"),
    ],
)
def test_public_names_in_a_sentence_become_the_private_ones(public: str, private: str) -> None:
    assert NAMES.restore(public) == private


def test_a_patch_is_read_in_its_class() -> None:
    patch = """\
--- a/repro.py
+++ b/repro.py
@@ -3,4 +3,4 @@ class Block1(nn.Module):
-        v1 = self.linear1(x) * self.weight1
+        v1 = self.linear1(x.float()) * self.weight1
 class Block3(nn.Module):
+        return self.linear1(x)
"""
    translated = NAMES.restore(patch).splitlines()
    assert translated[2].endswith("class Gate(nn.Module):")
    assert translated[4] == "+        v1 = self.up(x.float()) * self.tau"
    assert translated[6] == "+        return self.linear1(x)"  # left or right: not for us to say
