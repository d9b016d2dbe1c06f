"""Packages a loudness meter that keeps its own moving level, and replays a recorded stream."""
import os
import tempfile

import torch
from torch import nn


class LoudnessMeter(nn.Module):
    def __init__(self, decay=0.9):
        super().__init__()
        self.decay = decay
        self.register_buffer("level", torch.ones(1))

    def forward(self, frame):
        self.level = self.decay * self.level + (1 - self.decay) * frame.square().mean()
        return frame / self.level.sqrt().clamp(min=1e-3)


def build(samples, folder):
    with torch.no_grad():
        program = torch.export.export(LoudnessMeter(), (torch.zeros(samples),))
    path = os.path.join(folder, "meter.pt2")
    torch._inductor.aoti_compile_and_package(program, package_path=path)
    return torch._inductor.aoti_load_package(path)


if __name__ == "__main__":
    torch.manual_seed(0)
    stream = torch.randn(6, 8).cumsum(0)
    reference = LoudnessMeter()
    with tempfile.TemporaryDirectory() as folder:
        packaged = build(8, folder)
        for step, frame in enumerate(stream):
            want, have = reference(frame), packaged(frame)
            torch.testing.assert_close(have, want, msg=lambda text: f"frame {step}: {text}")
    print("stream replayed")
