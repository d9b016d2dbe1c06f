"""Adds amplitudes of a variational wave function in log space and checks them against complex128."""
import torch


def random_log_amplitudes(count, generator):
    magnitude = torch.rand(count, generator=generator) * 60 - 20
    phase = torch.rand(count, generator=generator) * 1e-20  # real, but for rounding
    return torch.complex(magnitude, phase)


def log_sum(amplitudes):
    total = amplitudes[0]
    for amplitude in amplitudes[1:]:
        total = torch.logaddexp(total, amplitude)
    return total


def log_superposition(left, right):
    return torch.logaddexp(left, right)


if __name__ == "__main__":
    generator = torch.Generator().manual_seed(2)
    left = random_log_amplitudes(64, generator)
    right = random_log_amplitudes(64, generator)
    both = log_superposition(left, right)
    exact = torch.log(torch.exp(left.to(torch.complex128)) + torch.exp(right.to(torch.complex128)))
    torch.testing.assert_close(both, exact.to(torch.complex64))
    print(log_sum(left))
