"""A service whose strong filter is turned on by an environment variable."""
import argparse
import os

import torch
from torch import nn


class Window(nn.Module):
    """A learned window over a frame."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.hann_window(width))

    def forward(self, frames):
        return frames * self.weight


class Denoiser(nn.Module):
    def __init__(self, width, strength):
        super().__init__()
        self.window = Window(width)
        self.mix = nn.Linear(width, width)
        self.strength = strength

    def is_strong(self):
        return int(os.getenv("SERVICE_STRONG_FILTER", "0")) > 0

    def forward(self, frames):
        shaped = torch.tanh(self.mix(self.window(frames)))
        if self.is_strong():
            return shaped * self.strength
        return frames - shaped


class Service:
    def __init__(self, model):
        self.model = model
        self.reference = model
        self.compiled = torch.compile(model)
        self.served = 0

    def answer(self, frames):
        self.served += 1
        with torch.no_grad():
            return self.compiled(frames)

    def check(self, frames):
        with torch.no_grad():
            return self.reference(frames)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=24)
    args = parser.parse_args()
    torch.manual_seed(3)
    service = Service(Denoiser(args.width, 0.25))
    frames = torch.randn(6, args.width)
    for setting in ("1", "0"):
        os.environ["SERVICE_STRONG_FILTER"] = setting
        answer, wanted = service.answer(frames), service.check(frames)
        print("strong filter", setting, "deviation", (answer - wanted).abs().max().item())
        torch.testing.assert_close(answer, wanted)


if __name__ == "__main__":
    main()
