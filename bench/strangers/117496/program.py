from __future__ import annotations

import torch
from torch import Tensor

class F():

    def __init__(self, V, r):
        self.t = V
        self.r = r

    def b(self):
        self.t = self.t * self.r
        print(f"t={self.t}")

    @torch.compile
    def method(
        self,
        A: Tensor,
        B: Tensor,
        t: float = 1.0
    ) -> Tensor:
        print(f"method: T inside is {t}, self.t is {self.t}")
        return A + B + t

@torch.compile
def free_fun(
    A: Tensor,
    B: Tensor,
    t: float = 1.0
) -> Tensor:
    print(f"free_fun: T inside is {t}")
    return A + B + t

torch.set_default_device('cpu')
g = F(16,0.5)
Z = torch.ones(3,3,1)
for _ in range(4):
    g.b()
    g.method(Z, Z, t = g.t)
    free_fun(Z, Z, g.t)
    print('----')
