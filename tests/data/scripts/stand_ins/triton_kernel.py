"""Run in the interpreter of Triton, with the checkout as its argument."""

import sys
sys.path.insert(0, sys.argv[1])
import torch, triton, triton.language as tl
from tests.support.round_trips import rewriting

@triton.jit
def zorb_add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask) + 2 * tl.load(y + at, mask), mask)

def make():
    def function(x, y):
        x, out = x.cos(), torch.empty_like(x)
        zorb_add[(1,)](x, y, out, 10, BLOCK=16)
        return out.sin() * x
    return function, (torch.randn(10), torch.randn(10))

found = rewriting(make)
assert found.trace["reasons"] == [], found.trace["reasons"]
assert found.same, (found.equivalence, found.text)
assert "operator1(" in found.text and "z.copy_(x + y)" in found.text, found.text
assert "zorb" not in found.text
