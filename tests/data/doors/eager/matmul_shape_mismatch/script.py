import torch
from torch import nn

# features come out of the encoder as (batch, 128), the head wants 256
head = nn.Sequential(nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 10))
features = torch.randn(32, 128)
print(head(features).shape)
