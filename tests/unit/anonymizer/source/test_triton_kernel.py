"""A Triton kernel in public names says nothing of its author."""

from __future__ import annotations

import ast

import pytest

from anonymizer.source.triton_kernel import KernelNotPublicError, rebuild
from tests.support.places import DATA
from tests.support.scripts import text

SCRIPTS = DATA / "kernels"


#: What `triton.language` has, as far as these scripts use it.
VOCABULARY = frozenset("""
    jit language constexpr program_id arange load store sum mask other axis
    inline_asm_elementwise dtype is_pure pack float32 dot max to float8e4nv
    """.split())


def test_a_kernel_in_public_names_says_nothing_of_its_author() -> None:
    source = (SCRIPTS / "inline_assembly.py").read_text()
    public = rebuild(source, "fast_reciprocal", VOCABULARY)
    for word in ("reciprocal", "amount", "acme", "invert", "doubled", "frobnicate", "desk"):
        assert word not in public.text
    assert public.parameters["SIZE"].startswith("SIZE") and public.parameters["count"] != "count"
    assert "tl.load" in public.text and "@triton.jit" in public.text
    kernel = next(n for n in ast.parse(public.text).body if isinstance(n, ast.FunctionDef))
    assert ast.get_docstring(kernel) is None


@pytest.mark.parametrize(
    "body",
    ["from acme import secret\n", "", "secret = open('x')\n"],
)
def test_what_has_no_public_form_stops_the_rewriting(body: str) -> None:
    source = (
        f"import triton\nimport triton.language as tl\n{body}"
        "@triton.jit\ndef k(p):\n    tl.store(p, secret)\n"
    )
    with pytest.raises(KernelNotPublicError):
        rebuild(source, "k", VOCABULARY)


def test_helpers_and_constants_come_along_under_public_names() -> None:
    source = text("kernels/helper_and_constant")
    public = rebuild(source, "acme_main", VOCABULARY).text
    assert "acme" not in public.lower()
    assert "tl.constexpr(7)" in public and public.count("@triton.jit") == 2


def test_texts_of_a_kernel_keep_their_differences() -> None:
    public = rebuild(text("kernels/modes"), "k", VOCABULARY)
    assert (
        public.rewrite_constant("acme") == "text1" and public.rewrite_constant("quorum") == "text2"
    )
    assert (
        "'text1'" in public.text
        and public.rewrite_constant("other") == "text"
        and public.rewrite_constant(3) == 3
    )
    with pytest.raises(KernelNotPublicError):
        public.rewrite_constant({"tl": "JITFunction(script:acme)"})
