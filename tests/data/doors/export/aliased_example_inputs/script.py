import torch
from typing import List


class ListAdd(torch.nn.Module):
    def forward(
        self, x: List[torch.Tensor], y: torch.Tensor, z: torch.Tensor, bs: float = float(0.1)
    ):
        y1 = y.clone()
        z1 = z + y
        for xi in x:
            y1 = y1 + xi + bs
        return y1 + z1


model = ListAdd()
x = torch.rand(8, 4)

ep_1 = torch.export.export(model, args=([x, x, x], x, x, 0.2), strict=True)
ep_2 = torch.export.export(model, args=([x, x, x], x, x, 0.2), strict=False)

args = ([torch.rand(8, 4) for _ in range(3)], torch.rand(8, 4), torch.rand(8, 4), 0.2)
torch.testing.assert_close(ep_2.module()(*args), model(*args))
torch.testing.assert_close(ep_1.module()(*args), model(*args))
