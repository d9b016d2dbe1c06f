"""Packages a batcher that says how many rows and pages it read, and pages through a file with it."""
import torch
from torch import nn
from torch.export import Dim


class Pager(nn.Module):
    def __init__(self, page):
        super().__init__()
        self.page = page

    def forward(self, rows):
        pages = rows.shape[0] // self.page
        return rows.view(pages, self.page, -1).mean(1), rows.shape[0], pages


def compile_pager(page, width):
    pages = Dim("pages", min=1, max=1024)
    with torch.no_grad():
        program = torch.export.export(
            Pager(page), (torch.zeros(5 * page, width),), dynamic_shapes={"rows": {0: page * pages}}
        )
    return torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(program))


if __name__ == "__main__":
    pager, eager = compile_pager(4, 3), Pager(4)
    rows = torch.arange(36.0).view(12, 3)
    means, count, pages = pager(rows)
    expected, n, p = eager(rows)
    torch.testing.assert_close(means, expected)
    assert (type(count), type(pages)) == (int, int), (count, pages)
    assert (count, pages) == (n, p), (count, pages)
