import io

import torch


class Add(torch.nn.Module):
    def forward(self, x):
        return x + 1


x = torch.ones(3)
program = torch.export.export(mod=Add(), args=(x,))
file = io.BytesIO()
torch.export.save(ep=program, f=file)
file.seek(0)
print(torch.export.load(f=file).module()(x).tolist())
print(torch.export.unflatten(module=program)(x).tolist())
