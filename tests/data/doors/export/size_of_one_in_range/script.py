"""Exports a chunked scorer whose long input is five times the short one."""
import torch
from torch import nn
from torch.export import Dim, export


class ChunkScorer(nn.Module):
    def __init__(self, chunks):
        super().__init__()
        self.chunks = chunks

    def forward(self, signal, template):
        rows = signal.view(self.chunks, -1)
        return [rows[i] - template for i in range(self.chunks)]


scorer = ChunkScorer(5)
size = Dim("size", min=1, max=8)
program = export(scorer, (torch.randn(20), torch.randn(4)),
                 dynamic_shapes={"signal": {0: size * 5}, "template": {0: size}})
module = program.module()
for n in (2, 1):
    signal, template = torch.randn(5 * n), torch.randn(n)
    for have, want in zip(module(signal, template), scorer(signal, template)):
        torch.testing.assert_close(have, want)
