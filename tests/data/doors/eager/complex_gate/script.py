"""A complex-valued gate of a radar network, checked against the formula in double precision."""
import torch
from torch import nn


class ComplexGate(nn.Module):
    """silu of a complex signal: z * sigmoid(z)."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels, dtype=torch.complex64))
        self.bias = nn.Parameter(torch.zeros(channels, dtype=torch.complex64))

    def forward(self, signal):
        return nn.functional.silu(signal * self.weight + self.bias)


def make_echo(samples, channels):
    phase = torch.linspace(0.1, 3.0, samples)[:, None] * torch.arange(1, channels + 1)
    amplitude = torch.linspace(-95.0, 20.0, samples)[:, None]
    return torch.complex(amplitude.expand(samples, channels).contiguous(), phase)


if __name__ == "__main__":
    gate = ComplexGate(3)
    echo = make_echo(24, 3)
    with torch.no_grad():
        out = gate(echo)
    wide = echo.to(torch.complex128)
    expected = wide / (1 + torch.exp(-wide))
    lost = out.isnan().sum().item()
    torch.testing.assert_close(out, expected.to(torch.complex64), msg=lambda m: f"{lost} lost\n{m}")
    print("gate ok")
