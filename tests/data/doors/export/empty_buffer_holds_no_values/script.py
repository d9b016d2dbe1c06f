import torch
from torch import nn


class Reference(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", None)

    def forward(self, frames):
        if self.mean is None:
            self.mean = frames.mean(dim=0)
        return frames - self.mean


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.reference = Reference()
        self.out = nn.Linear(4, 4)

    def forward(self, frames):
        return self.out(self.reference(frames))


model = Denoiser().eval()
frames = torch.randn(3, 4)
torch.export.export(model, (frames,), strict=False)
with torch.no_grad():
    result = model(frames)
print("largest", result.abs().max().item())
if result.abs().max().item() > 100:
    raise RuntimeError("too large")
