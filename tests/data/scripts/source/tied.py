import torch
from torch import nn

class SecretModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.secret_embed = nn.Embedding(11, 8)
        self.secret_head = nn.Linear(8, 11, bias=False)
        self.secret_head.weight = self.secret_embed.weight
        self.secret_blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.secret_drop = nn.Dropout(0.25)
        self.secret_unused = nn.Linear(1000, 7)

    def forward(self, secret_ids):
        h = self.secret_embed(secret_ids)
        for secret_block in self.secret_blocks:
            h = self.secret_drop(secret_block(h) + secret_block.weight[0])
        return self.secret_head(h), self.secret_head.weight is self.secret_embed.weight

ENTRY = SecretModel().eval()
ARGS = (torch.tensor([[1, 2, 3]]),)
