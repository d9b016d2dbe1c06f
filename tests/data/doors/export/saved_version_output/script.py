"""Stores an exported detector whose answer names its version, and reads it back."""
import io

import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self, width, threshold, version="detector-2"):
        super().__init__()
        self.score = nn.Linear(width, 1)
        self.threshold = threshold
        self.version = version

    def forward(self, batch):
        score = self.score(batch).squeeze(-1).sigmoid()
        return {
            "score": score,
            "found": score > self.threshold,
            "threshold": self.threshold,
            "version": self.version,
        }


def roundtrip(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


if __name__ == "__main__":
    torch.manual_seed(1)
    model = Detector(5, 0.5).eval()
    batch = torch.randn(3, 5)
    restored = roundtrip(torch.export.export(model, (batch,)))
    answer = restored.module()(batch)
    torch.testing.assert_close(answer["score"], model(batch)["score"])
    print(answer["threshold"], answer["version"])
