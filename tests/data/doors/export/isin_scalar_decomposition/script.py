import torch

class Module(torch.nn.Module):
    def forward(self):
        return torch.isin(0, torch.tensor(0))

print(Module()())
ep = torch.export.export(Module(), ())
ep.run_decompositions()
