"""Finds the faint lines of scanned receipts; the last lines compare eager with compiled.

A made-up script of a made-up company, written the way such scripts look: a configuration, a
backbone, attention over rows, and one line deep inside that torch 2.13.0 compiles wrongly for the
CPU. Run it with `bugreport create examples/receipt_scanner.py` to get a report that holds none of
it.
"""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn

BROOKMILL_CONFIG = {
    "customer": "Brookmill Grocers, branch 17",
    "api_endpoint": "https://scans.brookmill-internal.example/v3/ingest",
    "api_token": "bm-live-7Qx2v9LrTfK4",
    "checkpoint": "s3://brookmill-ocr/larkspur/epoch_0412.pt",
    "page_height": 24,
    "page_width": 37,
    "ink_channels": 16,
    "row_heads": 4,
    "row_layers": 2,
    "field_names": ["total_due", "loyalty_number", "cashier_initials", "void_reason"],
}


class InkConv(nn.Module):
    """Convolution, norm and a gate that suppresses paper texture."""

    def __init__(self, ink_in, ink_out, stride=1):
        super().__init__()
        self.stroke = nn.Conv2d(ink_in, ink_out, 3, stride=stride, padding=1, bias=False)
        self.tone = nn.GroupNorm(4, ink_out)
        self.texture_gate = nn.Conv2d(ink_out, ink_out, 1)

    def forward(self, ink):
        ink = self.tone(self.stroke(ink))
        return F.silu(ink) * torch.sigmoid(self.texture_gate(ink))


class LarkspurBackbone(nn.Module):
    """Keeps the height of the page, since every row is a candidate line of text."""

    def __init__(self, cfg):
        super().__init__()
        width = cfg["ink_channels"]
        self.entry = InkConv(1, width)
        self.thin_strokes = InkConv(width, width)
        self.thick_strokes = InkConv(width, width)

    def forward(self, page):
        ink = self.entry(page)
        ink = ink + self.thin_strokes(ink)
        ink = ink + self.thick_strokes(ink)
        return ink.mean(dim=-1).transpose(1, 2)


class RowAttention(nn.Module):
    """Rows look at each other: a total is found by the lines above it."""

    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg["row_heads"]
        width = cfg["ink_channels"]
        self.before = nn.LayerNorm(width)
        self.to_qkv = nn.Linear(width, 3 * width)
        self.merge_heads = nn.Linear(width, width)
        self.after = nn.LayerNorm(width)
        self.clerk = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, rows):
        batch, height, width = rows.shape
        qkv = self.to_qkv(self.before(rows)).view(batch, height, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        weight = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), dim=-1)
        mixed = (weight @ v).transpose(1, 2).reshape(batch, height, width)
        rows = rows + self.merge_heads(mixed)
        return rows + self.clerk(self.after(rows))


class FaintLineDetector(nn.Module):
    """Measures the darkest pixel of each row of the scan, as the scanner delivers it: in bytes."""

    def __init__(self, cfg):
        super().__init__()
        self.paper_white = 255.0
        self.height = cfg["page_height"]
        self.mix = nn.Parameter(torch.tensor(0.25))

    def forward(self, scan_bytes):
        flat = scan_bytes.reshape(-1, scan_bytes.shape[-1])
        darkest, _ = torch.min(flat, 1)
        darkest = darkest.view(-1, self.height)
        contrast = (self.paper_white - darkest.float()) / self.paper_white
        return darkest, contrast * self.mix


class BrookmillReceiptReader(nn.Module):
    """From a scan to one score per field and row, and the darkness that the rescan rule needs."""

    def __init__(self, cfg):
        super().__init__()
        self.larkspur = LarkspurBackbone(cfg)
        self.row_stack = nn.ModuleList(RowAttention(cfg) for _ in range(cfg["row_layers"]))
        self.faint_lines = FaintLineDetector(cfg)
        self.field_head = nn.Linear(cfg["ink_channels"], len(cfg["field_names"]))

    def forward(self, scan_bytes):
        page = scan_bytes.unsqueeze(1).float() / 255.0 - 0.5
        rows = self.larkspur(page)
        for layer in self.row_stack:
            rows = layer(rows)
        darkest, contrast = self.faint_lines(scan_bytes)
        scores = self.field_head(rows) + contrast.unsqueeze(-1)
        return scores, darkest


def load_batch(cfg, pages):
    """Stands for the download from the branch: pale pages with a few strokes of ink."""
    pages = torch.randint(140, 250, (pages, cfg["page_height"], cfg["page_width"]))
    return pages.to(torch.uint8)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, default=3)
    parser.add_argument("--seed", type=int, default=412)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    reader = BrookmillReceiptReader(BROOKMILL_CONFIG).eval()
    scans = load_batch(BROOKMILL_CONFIG, arguments.pages)
    fast_reader = torch.compile(reader)
    with torch.no_grad():
        scores, darkest = reader(scans)
        fast_scores, fast_darkest = fast_reader(scans)

    changed = int((darkest != fast_darkest).sum())
    print(f"{changed} of {darkest.numel()} rows changed their darkest pixel")
    print(f"largest change of a field score: {(scores - fast_scores).abs().max().item():.4f}")
    assert torch.equal(darkest, fast_darkest), "compiled reader sees ink where there is none"


if __name__ == "__main__":
    main()
