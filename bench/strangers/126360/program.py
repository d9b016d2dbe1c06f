import torch
from torch._dynamo import config

def fn():
    model = torch.nn.Sequential(
        torch.nn.Linear(400, 4),
        torch.nn.Sigmoid(),
    )

    for _ in range(3):
        x = torch.randn([100, 400])

        result = model(x).sum()
        result.backward()
        yield model[0].weight.grad
        yield model[0].bias.grad
        model.zero_grad()

opt_fn = torch.compile(fn)
outs = opt_fn()
res = list(outs)
