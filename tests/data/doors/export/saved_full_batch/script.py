"""Stores an exported detector whose answer says whether it saw a full batch, and reads it back."""
import io

import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self, width, threshold, size=8):
        super().__init__()
        self.score = nn.Linear(width, 1)
        self.threshold = threshold
        self.size = size

    def forward(self, batch):
        score = self.score(batch).squeeze(-1).sigmoid()
        return {
            "score": score,
            "found": score > self.threshold,
            "threshold": self.threshold,
            "full": batch.shape[0] >= self.size,
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
    program = torch.export.export(model, (batch,), dynamic_shapes={"batch": {0: torch.export.Dim("rows", max=64)}})
    restored = roundtrip(program)
    answer = restored.module()(batch)
    torch.testing.assert_close(answer["score"], model(batch)["score"])
    print(answer["threshold"], answer["full"])
