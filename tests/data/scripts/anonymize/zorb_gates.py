import torch
from torch import nn

class ZorbBook:
    def __init__(self):
        self.Zorb_rules = {"Zorb_city": 0.37219}

class ZorbGate(nn.Module):
    def __init__(self):
        super().__init__()
        self.Zorb_proj = nn.Linear(44, 44)
        self.book = ZorbBook()

    def forward(self, h):
        try:
            self.book.__weakref__ = None
        except AttributeError:
            h = h * self.book.Zorb_rules["Zorb_city"]
        return torch.tanh(self.Zorb_proj(h)) + h

class ZorbNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(301, 44)
        self.gates = nn.ModuleList(ZorbGate() for _ in range(3))

    def forward(self, Zorb_ids):
        h = self.embed(Zorb_ids)
        for gate in self.gates:
            h = gate(h)
        return h

torch.compile(ZorbNet())(torch.randint(0, 301, (2, 11)))
