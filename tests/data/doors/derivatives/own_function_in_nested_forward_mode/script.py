"""Stiffness of a spring by nested forward-mode derivatives of a stored energy."""
import torch
from torch.func import jacfwd


class Elongation(torch.autograd.Function):
    """The square of an elongation, with its own derivatives for a fused kernel later on."""

    generate_vmap_rule = True

    @staticmethod
    def forward(stretch):
        return stretch * stretch

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, flow):
        (stretch,) = ctx.saved_tensors
        return 2 * stretch * flow

    @staticmethod
    def jvp(ctx, tangent):
        (stretch,) = ctx.saved_tensors
        return 2 * stretch * tangent


class SpringModel:
    def __init__(self, stiffness, rest):
        self.stiffness = torch.as_tensor(stiffness, dtype=torch.float64)
        self.rest = torch.as_tensor(rest, dtype=torch.float64)

    def energy(self, length):
        stretch = length - self.rest
        quartic = Elongation.apply(Elongation.apply(stretch))
        return (self.stiffness * quartic).sum()

    def force(self, length):
        return -jacfwd(self.energy)(length)

    def tangent_stiffness(self, length):
        return jacfwd(jacfwd(self.energy))(length)


def check_against_closed_form(model, length):
    stretch = length - model.rest
    expected = torch.diag(12 * model.stiffness * stretch**2)
    actual = model.tangent_stiffness(length)
    assert torch.allclose(actual, expected), (actual, expected)


def main():
    model = SpringModel([1.0, 2.0], [1.0, 0.5])
    length = torch.tensor([4.0, 1.5], dtype=torch.float64)
    print("force", model.force(length))
    check_against_closed_form(model, length)


if __name__ == "__main__":
    main()
