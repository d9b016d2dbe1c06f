import torch
import torch.nn as nn

class ComplexModel(nn.Module):
    def forward(self, x):
        # Python builtin complex() causes tracing failure
        return x + complex(20.0, 0.0)

model = ComplexModel().eval()
x = torch.tensor([complex(8.0, 6.0)], dtype=torch.complex64)

compiled_model = torch.compile(model, fullgraph=True)

with torch.no_grad():
    output = compiled_model(x)  # Error here
