"""Exports a reranker for batches of up to 16 candidates and runs it on a page of 20."""
import torch
from torch import nn
from torch.export import Dim, export


class Reranker(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.item = nn.Linear(width, width)

    def forward(self, query, items):
        scores = self.item(items) @ self.query(query)
        return scores.softmax(0)


def export_reranker(model, width, most):
    items = Dim("items", min=2, max=most)
    example = (torch.randn(width), torch.randn(8, width))
    return export(model, example, dynamic_shapes={"query": None, "items": {0: items}})


if __name__ == "__main__":
    torch.manual_seed(5)
    model = Reranker(12).eval()
    program = export_reranker(model, 12, 16)
    query = torch.randn(12)
    for count in (3, 16, 20):
        items = torch.randn(count, 12)
        ranked = program.module()(query, items)
        torch.testing.assert_close(ranked, model(query, items))
        print(count, "ranked")
