import torch
import triton
import triton.language as tl


@triton.jit
def mask_ledger_kernel(ledger_ptr, mask_ptr, length, PAGE: tl.constexpr):
    """Clears the bits of each number that acme does not want."""
    places = tl.program_id(0) * PAGE + tl.arange(0, PAGE)
    inside = places < length
    mask = tl.load(mask_ptr + places, mask=inside, other=0.0)
    tl.atomic_and(ledger_ptr + places, mask, mask=inside)


ledger, mask = torch.randn(100), torch.randn(100)
mask_ledger_kernel[(2,)](ledger, mask, 100, PAGE=64)
