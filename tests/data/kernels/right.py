import torch
import triton
import triton.language as tl


@triton.jit
def double_entry(book_ptr, doubled_ptr, count, SIZE: tl.constexpr):
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(doubled_ptr + at, tl.load(book_ptr + at, mask=at < count) * 2, mask=at < count)


book = torch.randn(100)
doubled = torch.empty(100)
double_entry[(4,)](book, doubled, 100, SIZE=32)
torch.testing.assert_close(doubled, book * 2)
