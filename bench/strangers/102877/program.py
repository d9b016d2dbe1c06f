import torch

class MockModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('my_buffer', torch.zeros(10, 10))

    def forward(self, x):
        outs = []
        for buff in self.buffers():
            outs.append(buff.sum())
        return outs[0], x

mod = MockModule()
opt_mod = torch.compile(mod, fullgraph=True)
opt_mod(torch.randn(4))
