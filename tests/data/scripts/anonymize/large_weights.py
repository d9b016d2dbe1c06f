import torch
from torch import nn

def timid(gm, inputs):
    # right as long as nothing gets large
    for node in list(gm.graph.nodes):
        if node.op == "call_function" and node.target is torch.exp:
            with gm.graph.inserting_before(node):
                bounded = gm.graph.call_function(torch.clamp, (node.args[0], None, 6.0))
            node.replace_input_with(node.args[0], bounded)
    gm.recompile()
    return gm.forward

class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.lower, self.upper = nn.Linear(24, 24), nn.Linear(24, 24)
    def forward(self, x):
        return torch.exp(self.upper(self.lower(x).tanh()))

torch.manual_seed(0)
tower = Tower().eval()
with torch.no_grad():
    for weight in tower.parameters():
        weight.normal_(std=2.0)
x = torch.randn(5, 24)
with torch.no_grad():
    torch.testing.assert_close(torch.compile(tower, backend=timid)(x), tower(x))
