import torch
from torch import nn

zorb_library = torch.library.Library("zorblax", "DEF")
zorb_library.define("mix(Tensor x, Tensor y) -> Tensor")
zorb_library.impl("mix", lambda x, y: (x * 3 + y).tanh() * 17, "CPU")
zorb_library.impl("mix", lambda x, y: torch.empty_like(x), "Meta")

class ZorbLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.zorb_one, self.zorb_two = nn.Linear(24, 24), nn.Linear(24, 24)
    def forward(self, x):
        x = torch.ops.zorblax.mix(self.zorb_one(x), x)
        return self.zorb_two(torch.erfinv(x * 0.001))

def zorb_backend(gm, inputs):
    for node in gm.graph.nodes:
        if node.op == "call_function" and node.target is torch.ops.zorblax.mix:
            raise RuntimeError("this is not supported here")
    return gm.forward

model = nn.Sequential(ZorbLayer(), ZorbLayer()).eval()
with torch.no_grad():
    torch.compile(model, backend=zorb_backend)(torch.randn(5, 24))
