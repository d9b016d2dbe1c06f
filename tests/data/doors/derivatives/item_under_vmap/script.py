"""Per-sample gradients of a loss that skips padded steps, by vmap over the batch."""
import torch
from torch import nn
from torch.func import functional_call, grad, vmap


class Tagger(nn.Module):
    def __init__(self, features, tags):
        super().__init__()
        self.head = nn.Linear(features, tags)

    def forward(self, steps):
        return self.head(steps)


def make_loss(model):
    def loss(parameters, steps, tags, length):
        scores = functional_call(model, parameters, (steps,))
        used = int(length.item())
        return nn.functional.cross_entropy(scores[:used], tags[:used])

    return loss


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Tagger(6, 3)
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    steps = torch.randn(4, 5, 6)
    tags = torch.randint(0, 3, (4, 5))
    lengths = torch.tensor([5, 3, 4, 2])
    per_sample = vmap(grad(make_loss(model)), in_dims=(None, 0, 0, 0))
    gradients = per_sample(parameters, steps, tags, lengths)
    print({name: value.norm(dim=0).mean().item() for name, value in gradients.items()})
