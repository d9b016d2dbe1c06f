import torch
from baked import baked, columns


class SecretNet(torch.nn.Module):
    def forward(self, secret_x, secret_y):
        return secret_x * 2 + secret_y.sum() + secret_x.size(1)


net = torch.compile(SecretNet(), backend=baked(columns), dynamic=True)
for rows, width in ((4, 5), (4, 5), (6, 7)):
    net(torch.ones(rows, width), secret_y=torch.ones(rows, 3))
