import torch
import triton
import triton.language as tl

EDGE_OF_QUORUM = tl.constexpr(448.0)


@triton.jit
def squeeze_quorum(value):
    # acme's own way to keep a residual small
    return tl.minimum(tl.maximum(value, -EDGE_OF_QUORUM), EDGE_OF_QUORUM)


@triton.jit
def quorum_residual_kernel(ledger_ptr, residual_ptr, tally_ptr, length, PAGE: tl.constexpr):
    """Adds the residual of the quorum glazer to its ledger, both in eight bits."""
    page = tl.program_id(0)
    places = page * PAGE + tl.arange(0, PAGE)
    inside = places < length
    ledger = squeeze_quorum(tl.load(ledger_ptr + places, mask=inside, other=0.0))
    residual = tl.load(residual_ptr + places, mask=inside, other=0.0)
    small_ledger = ledger.to(tl.float8e5)
    small_residual = (residual * 0.125).to(tl.float8e5)
    tally = small_ledger + small_residual
    if page == 0:
        tl.device_print("acme page", page)
    tl.store(tally_ptr + places, tally.to(tl.float32), mask=inside)


ledger, residual = torch.randn(300), torch.randn(300)
tally = torch.empty(300)
quorum_residual_kernel[(triton.cdiv(300, 128),)](ledger, residual, tally, 300, PAGE=128)
torch.testing.assert_close(tally, ledger + residual / 8, rtol=0.3, atol=0.3)
