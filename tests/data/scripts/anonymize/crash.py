import torch
from torch import nn


class Private(nn.Module):
    """Private of the zyxgrot programme."""

    def __init__(self, zyxgrot_width=48, note="zyxgrot note"):
        super().__init__()
        self.zyxgrot_in = nn.Linear(zyxgrot_width, zyxgrot_width)
        self.note = note

    def forward(self, zyxgrot_x, *, zyxgrot_flag=True):
        assert zyxgrot_flag, f"zyxgrot wants {zyxgrot_flag}"
        zyxgrot_y = self.zyxgrot_in(zyxgrot_x).relu()  # zyxgrot comment
        return {"zyxgrot_key": zyxgrot_y * 161.8033}


def zyxgrot_backend(gm, inputs):
    for node in gm.graph.nodes:
        if node.op == "call_method" and node.target == "relu":
            raise RuntimeError("relu is not supported here")
    return gm.forward


zyxgrot_model = Private().eval()
torch.compile(zyxgrot_model, backend=zyxgrot_backend)(torch.randn(3, 48))
