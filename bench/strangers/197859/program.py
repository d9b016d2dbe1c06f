import torch
import torch.nn as nn

class Wrapper(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = nn.Linear(4, 4, bias=False)
        with torch.no_grad():
            self.sub.weight.copy_(torch.eye(4))

    def forward(self, x):
        return self.sub(x)

model = Wrapper()
x = torch.arange(4.0)
compiled = torch.compile(model)

print(compiled(x))
# tensor([0., 1., 2., 3.])

replacement = nn.Linear(4, 4, bias=False)
with torch.no_grad():
    replacement.weight.fill_(5.0)

object.__setattr__(model, "sub", replacement)

print(model(x))
# tensor([30., 30., 30., 30.])

print(compiled(x))
# tensor([0., 1., 2., 3.])  <-- stale
