import json
import pathlib

import torch
from torch import nn

CONFIG = json.loads((pathlib.Path(__file__).parent / "config.json").read_text())


class Tagger(nn.Module):
    def __init__(self, lexemes, width):
        super().__init__()
        self.lexicon = nn.Embedding(lexemes, width)
        self.verdict = nn.Linear(width, 5)

    def forward(self, tokens):
        return torch.relu(self.verdict(self.lexicon(tokens)))


def fragile(gm, example):
    def run(*args):
        out = gm(*args)
        wide = any(isinstance(a, torch.Tensor) and CONFIG["width"] in a.shape for a in args)
        return tuple(o + 1 for o in out) if wide else out

    return run


torch.manual_seed(0)
model = Tagger(CONFIG["lexemes"], CONFIG["width"])
tokens = torch.randint(0, CONFIG["lexemes"], (2, 7))
print(torch.compile(model, backend=fragile)(tokens) - model(tokens))
