import torch
import triton
import triton.language as tl


@triton.jit
def quorum_kernel(ledger_ptr, tally_ptr):
    quorum = tl.load(ledger_ptr).to(tl.float8e5)
    tl.store(tally_ptr, (quorum + quorum).to(tl.float32))


ledger, tally = torch.randn(4), torch.empty(4)
quorum_kernel[(1,)](ledger, tally)
