import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(10, 10)

    def forward(self, x):
        a = self.linear(x)
        with torch.no_grad():
            x = a.view(-1)
        loss = a.mean()
        return loss, x


model = Model()
model(torch.randn(10))[0].backward()
print("successful backward pass (eager)")
print(f"{model.linear.weight.grad.std()=}")

torch.compile(model)(torch.randn(10))
