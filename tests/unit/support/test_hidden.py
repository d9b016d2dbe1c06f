"""The search that the canary runs rely on finds a word in each disguise."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from tests.support.hidden import hides

WORD = "falconridge"


@pytest.mark.parametrize("content", [
    b"x=falconridge.", b"FalconRidge", b"falcon_ridge", b"falcon-\nridge", b"f a l c o n r i d g e",
    quote("".join(f"%{ord(c):02x}" for c in WORD)).encode(), b"%66alcon%52idge",
    *(b"data:" + base64.b64encode(b"x" * lead + b"the falconridge job") for lead in range(3)),
    base64.urlsafe_b64encode(b"??>>falconridge"),
    base64.b64encode(b"a falconridge")[:9] + b"\n" + base64.b64encode(b"a falconridge")[9:],
    WORD.encode().hex().encode(), b"0" + WORD.encode().hex().encode(),
])  # fmt: skip
def test_a_word_is_found_in_each_disguise(content: bytes) -> None:
    assert hides(WORD, b"before " + content + b" after")


@pytest.mark.parametrize(
    "content", [b"falcon and a ridge", b"aGVsbG8gd29ybGQ=", b"%20", b"0123456789abcdef"]
)
def test_other_texts_have_it_not(content: bytes) -> None:
    assert not hides(WORD, content)
