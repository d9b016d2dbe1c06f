import random

import torch


class Program(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.skipped, self.kept = 0, []
        self.layer, self.dropout = torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)

    def forward(self, x):
        for i in range(6):
            if torch.rand([]).item() < 0.5:
                self.skipped += 1
                continue
            if random.random() < 0.3:
                self.kept.append(i)
            x = self.dropout(self.layer(x))
        return x


torch.manual_seed(0)
program = torch.compile(Program(), backend="aot_eager")
program(torch.ones(3, 4))
