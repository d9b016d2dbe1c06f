"""Lowers a controller with a learned and a fallback branch to core operators for an embedded target."""
import torch
from torch import nn


class Controller(nn.Module):
    """Uses the learned policy inside the trusted range, a damped proportional law outside."""

    def __init__(self, states, actions, limit=3.0):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(states, 16), nn.Tanh(), nn.Linear(16, actions))
        self.gain = nn.Linear(states, actions, bias=False)
        self.limit = limit

    def learned(self, state):
        return self.policy(state)

    def fallback(self, state):
        damping = torch.tensor(0.25)
        return -damping * self.gain(state)

    def forward(self, state):
        trusted = state.abs().amax() < self.limit
        return torch.cond(trusted, self.learned, self.fallback, (state,))


def lower(module, example):
    program = torch.export.export(module, example)
    return program.run_decompositions()


if __name__ == "__main__":
    torch.manual_seed(3)
    controller = Controller(4, 2).eval()
    example = (torch.randn(1, 4),)
    lowered = lower(controller, example)
    for scale in (0.5, 10.0):
        state = torch.full((1, 4), scale)
        torch.testing.assert_close(lowered.module()(state), controller(state))
    print("lowered", sorted({str(n.target) for n in lowered.graph.nodes if n.op == "call_function"}))
